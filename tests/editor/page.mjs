// What a user does and sees in the editor: commands, keys, marks, messages. Takes a page of `startEditor`; waits, never sleeps.
import assert from "node:assert/strict";
import { readFile, readdir, readlink } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";

/** Milliseconds that a job may take. */
export const JOB_TIMEOUT = 180_000;

/** What the extension tells the user: the status item's label, and the messages that are open. */
export async function said(page) {
  const label = await statusItem(page)
    .getAttribute("aria-label", { timeout: 1_000 })
    .catch(() => "no status item");
  const messages = await page.locator(".notification-toast").allInnerTexts();
  return [label, ...messages].map((text) => text.replaceAll(/\s+/g, " ").trim()).join("\n  ");
}

/** The time of the kernel as its lens has it; null while it is stale or not shown. */
export async function kernelTime(page) {
  const lenses = (await page.locator(".codelens-decoration").allInnerTexts()).map(plain);
  const current = lenses.find((text) => /modelled/.test(text) && !/stale/.test(text));
  return current?.match(/[\d.]+ [num]?s\b/)?.[0] ?? null;
}

export function statusItem(page) {
  return page.locator("#hipscope\\.hipscope\\.hipscope\\.status");
}

/** Waits for the server to have started; a save before that starts nothing. */
export async function ready(page) {
  await statusItem(page).locator(".codicon-flame").waitFor();
}

/** Waits for what a job is to bring; a job that fails ends the wait, with what it said. */
export async function broughtByJob(page, result) {
  const failure = statusItem(page).locator(".codicon-error");
  await result.or(failure).first().waitFor({ timeout: JOB_TIMEOUT });
  if (await failure.isVisible()) throw new Error(`the job failed: ${await said(page)}`);
}

/** Runs a command by its title; a palette that opened before the command was known is opened again. */
export async function command(page, title, { stays = false } = {}) {
  const input = page.locator(".quick-input-widget input").first();
  const row = page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first();
  await until(async () => {
    await page.keyboard.press("F1");
    await input.fill(`>${title}`);
    const found = await row.waitFor({ timeout: 3_000 }).then(
      () => true,
      () => false,
    );
    await page.keyboard.press(found ? "Enter" : "Escape");
    return found;
  }, `the command ${title}`);
  // A command that asks goes on in the same place.
  if (!stays) await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

/** Whether a process of that name runs on this machine. */
export async function runs(name) {
  const names = await Promise.all(
    (await processes()).map((pid) => readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")),
  );
  return names.some((other) => other.trim() === name);
}

/** Process ids of the language servers whose current folder that is. */
export async function serversIn(folder) {
  const found = [];
  for (const pid of await processes()) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    const current = await readlink(`/proc/${pid}/cwd`).catch(() => "");
    if (current === folder && command.split("\0").includes("lsp")) found.push(pid);
  }
  return found;
}

async function processes() {
  return (await readdir("/proc")).filter((entry) => /^\d+$/.test(entry)).map(Number);
}

/** Picks a colour theme by its name in the list. */
export async function chooseTheme(page, name) {
  await page.keyboard.press("Escape"); // a hover that is open
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Control+t");
  const input = page.locator(".quick-input-widget input").first();
  await input.waitFor();
  await input.fill(name);
  await page.locator(".quick-input-list .monaco-list-row", { hasText: name }).first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

/** The keys of an action of hipscope; the editor has taken the first before the second comes, or is given it again. */
export async function chord(page, key) {
  const taken = page.locator(".statusbar-item", { hasText: /second key of chord/ }).first();
  const waits = () =>
    taken.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  for (let tries = 0; tries < 10; ++tries) {
    await page.keyboard.press("Control+Alt+h");
    if (await waits()) break;
  }
  await page.keyboard.press(key);
}

export async function goToLine(page, line) {
  await page.keyboard.press("Escape"); // a hover that is open
  await page.keyboard.press("Control+g");
  const input = page.locator(".quick-input-widget input").first();
  await input.waitFor();
  await input.fill(`:${line}`);
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

/** The line of the cursor, from the status bar. */
export async function cursorLine(page) {
  const text = await page.locator("#status\\.editor\\.selection").innerText();
  return Number(/Ln (\d+)/.exec(text)?.[1]);
}

/** The page that the editor's Markdown preview shows. */
export function preview(page) {
  return page.frameLocator("iframe.webview.ready").last().frameLocator("iframe#active-frame");
}

/** Numbers, in the margin, of the lines that have an element of the editor, without repeats. */
export async function linesOf(page, selector, wanted = () => true) {
  const elements = await page.locator(selector).evaluateAll((all) =>
    all.map((element) => ({
      middle: element.getBoundingClientRect().top + element.getBoundingClientRect().height / 2,
      background: globalThis.getComputedStyle(element).backgroundColor,
    })),
  );
  const numbers = await page.locator(".margin-view-overlays .line-numbers").evaluateAll((all) =>
    all.map((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return { top, bottom, line: Number(element.textContent) };
    }),
  );
  const lines = elements
    .filter(wanted)
    .map(({ middle }) => numbers.find(({ top, bottom }) => top <= middle && middle < bottom)?.line);
  return [...new Set(lines)].sort((a, b) => a - b);
}

/** Lines whose whole width has a background colour of its own. */
export function tintedLines(page) {
  return linesOf(
    page,
    ".view-overlays .cdr",
    ({ background }) => !/rgba\(0, 0, 0, 0\)|transparent/.test(background),
  );
}

export async function hoverMarkedLine(page, line = "sum +=", word = "sum") {
  const text = page
    .locator(".view-line", { hasText: line })
    .locator("span > span", { hasText: word })
    .first();
  const hover = page.locator(".monaco-hover:not(.hidden)", { has: page.locator("table") }).first();
  await until(async () => {
    await page.mouse.move(10, 10);
    await text.hover();
    return hover.waitFor({ timeout: 5_000 }).then(
      () => true,
      () => false,
    );
  }, "the hover's table");
  return hover;
}

/** Opens the light bulb's menu on a line and takes the entry; a menu that did not open is tried again. */
export async function chooseAction(page, line, title) {
  const entry = page.locator(".action-widget .monaco-list-row", { hasText: title }).first();
  await goToLine(page, line);
  await until(async () => {
    await page.keyboard.press("Control+.");
    return entry.waitFor({ timeout: 5_000 }).then(
      () => true,
      () => false,
    );
  }, `the action ${title}`);
  // By keyboard: older editors lay an invisible element over the menu that takes a synthetic click.
  await until(async () => {
    if (/\bfocused\b/.test(await entry.getAttribute("class"))) return true;
    await page.keyboard.press("ArrowDown");
    return false;
  }, `the action ${title} to be selected`);
  await page.keyboard.press("Enter");
}

/** Text of the page with its no-break spaces as plain ones. */
export function plain(text) {
  return text.replace(/\u00a0/g, " ");
}

/** Asks until the answer is the expected one; the editor paints in several steps. */
export async function untilEqual(ask, expected, timeout = 20_000) {
  const end = performance.now() + timeout;
  for (;;) {
    const answer = await ask();
    if (isDeepStrictEqual(answer, expected)) return;
    if (performance.now() > end) assert.deepEqual(answer, expected);
    await new Promise((next) => setTimeout(next, 100));
  }
}

export async function until(condition, what, timeout = 60_000) {
  const end = performance.now() + timeout;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${timeout / 1000} s for ${what}`);
    await new Promise((next) => setTimeout(next, 100));
  }
}
