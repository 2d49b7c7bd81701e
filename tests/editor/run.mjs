// The main job in a real editor: open a HIP file, profile it, see the marked line, hover it, apply the rewrite.
// Takes the packaged extension and the installed server; prints a line per check and "N passed, N failed".
// HIPSCOPE_UPDATE_SCREENSHOTS=1 rewrites docs/images/*.png; otherwise pictures go to $OUT or build/editor.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { readFile, readdir, readlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { startEditor } from "./editor.mjs";

const ROOT = resolve(import.meta.dirname, "../..");
const VSIX = join(ROOT, "vscode-extension/hipscope.vsix");
const HIPSCOPE = process.env.HIPSCOPE_TEST_SERVER ?? join(ROOT, ".venv/bin/hipscope");
const BY_PATH = { "hipscope.serverPath": HIPSCOPE };
const BY_INTERPRETER = process.env.HIPSCOPE_TEST_SERVER
  ? BY_PATH
  : { "hipscope.interpreter": join(ROOT, ".venv/bin/python") };
const PICTURES =
  process.env.HIPSCOPE_UPDATE_SCREENSHOTS === "1"
    ? join(ROOT, "docs/images")
    : (process.env.OUT ?? join(ROOT, "build/editor"));
const JOB_TIMEOUT = 180_000;

const EXAMPLE = "lds_column_read.hip";
const SOURCE = readFileSync(join(ROOT, "examples", EXAMPLE), "utf8");
const MARKED_LINE =
  SOURCE.split("\n").findIndex((line) => line.includes("hipscope: expect bankConflict")) + 1;
const HANGS = readFileSync(join(import.meta.dirname, "hangs.hip"), "utf8");
// A file of the user's whose name is that of a Python module which the server needs.
const SHADOW = "raise SystemExit('the json.py of the workspace was imported')\n";
const DECLARATION = "__shared__ float tile[kTile][kTile];";

/** Findings and errors; hot lines without a finding are hints, which are dotted. */
const SQUIGGLE = ".squiggly-error, .squiggly-warning, .squiggly-info";

let passed = 0;
let failed = 0;
mkdirSync(PICTURES, { recursive: true });
await mainJob();
await cancelling();
await programInCpp();
await plainCpp();
await restrictedMode();
await noServer();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function mainJob() {
  const editor = await startEditor({
    vsix: VSIX,
    files: { [EXAMPLE]: SOURCE, "json.py": SHADOW },
    open: EXAMPLE,
    settings: BY_INTERPRETER,
  });
  const { page } = editor;
  const status = statusItem(page);
  // The time of the kernel as its lens has it; null while it is stale or not shown.
  const currentTime = async () => {
    const lenses = (await page.locator(".codelens-decoration").allInnerTexts()).map(plain);
    return (
      lenses.find((text) => /modelled/.test(text) && !/stale/.test(text))?.match(/[\d.]+ [num]?s\b/)?.[0] ??
      null
    );
  };
  let timeBefore = null;
  await inOrder(editor, [
    [
      "the installed extension starts the server when a HIP file is open",
      async () => {
        await status.filter({ hasText: /^\s*hipscope\s*$/ }).waitFor();
        await page.locator(".view-line", { hasText: "__global__" }).first().waitFor();
        await command(page, "View: Toggle Primary Side Bar Visibility"); // room for the code
      },
    ],
    [
      "Profile, from the palette, underlines the line where the kernel waits",
      async () => {
        await goToLine(page, MARKED_LINE);
        await command(page, "hipscope: Profile This Program");
        await broughtByJob(page, page.locator(SQUIGGLE).first());
        await untilEqual(() => linesOf(page, SQUIGGLE), [MARKED_LINE]);
      },
    ],
    ["the status bar counts the finding", () => status.filter({ hasText: /\b[1-9]\d* findings?/ }).waitFor()],
    [
      "the marked line is tinted by its share of the time",
      async () => {
        await untilEqual(async () => (await tintedLines(page)).includes(MARKED_LINE), true);
      },
    ],
    [
      "hovering the marked line shows what it waits for, as a table",
      async () => {
        const hover = await hoverMarkedLine(page);
        assert.match(await hover.innerText(), /bank conflict/i);
        assert.match(await hover.innerText(), /%/);
        await page.screenshot({ path: join(PICTURES, "editor.png") });
      },
    ],
    [
      "the light bulb offers the rewrite: its change is shown beside the text, which stays",
      async () => {
        await chooseAction(page, /Optimize kernel/i);
        await broughtByJob(page, page.locator(".monaco-diff-editor").first());
        await page.locator(".notification-toast", { hasText: /x as fast \(modelled\)/ }).waitFor();
        await page.screenshot({ path: join(PICTURES, "proposal.png") });
      },
    ],
    [
      "the evidence opens as a page: what was compared, and the numbers before and after",
      async () => {
        await command(page, "hipscope: Show What Proves the Rewrite");
        const tab = page.locator(".tab", { hasText: /evidence/ }).first();
        await tab.waitFor();
        await page.screenshot({ path: join(PICTURES, "evidence.png") });
        await command(page, "View: Close Editor");
        await tab.waitFor({ state: "hidden" });
      },
    ],
    [
      "Reject leaves the text as it was",
      async () => {
        await command(page, "hipscope: Reject the Rewrite");
        await page.locator(".monaco-diff-editor").first().waitFor({ state: "hidden" });
        await page.locator(".view-line", { hasText: DECLARATION }).first().waitFor();
        assert.equal(await readFile(join(editor.workspace, EXAMPLE), "utf8"), SOURCE);
      },
    ],
    [
      "Accept puts the verified edit into the buffer",
      async () => {
        await until(async () => (timeBefore = await currentTime()) !== null, "the time of the kernel");
        await chooseAction(page, /Optimize kernel/i);
        await broughtByJob(page, page.locator(".monaco-diff-editor").first());
        await command(page, "hipscope: Accept the Rewrite");
        await page.locator(".monaco-diff-editor").first().waitFor({ state: "hidden" });
        const declaration = page.locator(".view-line", {
          hasText: "__shared__ float tile",
        });
        await declaration.filter({ hasNotText: DECLARATION }).first().waitFor();
        assert.equal(
          await readFile(join(editor.workspace, EXAMPLE), "utf8"),
          SOURCE,
          "the file on disk is the user's to save",
        );
      },
    ],
    [
      "what was known about the old text is shown as stale, not as current",
      async () => {
        // Stale at first; on a free machine the rewrite's own profile may be there before anybody looks.
        await until(async () => (await currentTime()) !== timeBefore, "the old time to be no longer current");
        await untilEqual(() => linesOf(page, SQUIGGLE), []);
        await status.filter({ hasText: /^\s*hipscope\s*$/ }).waitFor();
      },
    ],
    [
      "Undo takes the edit back, Redo brings it again",
      async () => {
        const old = page.locator(".view-line", { hasText: DECLARATION });
        await page.keyboard.press("Control+z");
        await old.waitFor();
        await untilEqual(() => linesOf(page, SQUIGGLE), [MARKED_LINE]);
        await page.keyboard.press("Control+Shift+z");
        await old.waitFor({ state: "hidden" });
      },
    ],
    [
      "the rewrite's own profile has no such finding any more, and a save keeps it",
      async () => {
        await page.keyboard.press("Control+s");
        await until(
          async () => (await readFile(join(editor.workspace, EXAMPLE), "utf8")) !== SOURCE,
          "the file to be saved",
        );
        await page
          .locator(".codelens-decoration", { hasText: /stale/ })
          .waitFor({ state: "hidden", timeout: JOB_TIMEOUT });
        await page.locator(".codelens-decoration", { hasText: /modelled/ }).waitFor();
        await untilEqual(() => linesOf(page, SQUIGGLE), []);
        await page.screenshot({ path: join(PICTURES, "optimized.png") });
      },
    ],
    [
      "a server that is killed is started again and still knows the marks",
      async () => {
        const [server] = await serversIn(editor.workspace);
        process.kill(server, "SIGKILL");
        await untilEqual(
          async () => (await serversIn(editor.workspace)).filter((pid) => pid !== server).length,
          1,
        );
        await hoverMarkedLine(page);
      },
    ],
    [
      "nothing outside this machine was asked for",
      () => {
        // The name under which the editor's own service worker serves the files of its Markdown preview.
        const served = /^https:\/\/[^/]+\.vscode-resource\.vscode-cdn\.net\//;
        assert.deepEqual(
          editor.outside.filter((url) => !served.test(url)),
          [],
        );
      },
    ],
  ]);
}

async function cancelling() {
  const editor = await startEditor({
    vsix: VSIX,
    files: { "hangs.hip": HANGS },
    open: "hangs.hip",
    settings: BY_PATH,
  });
  const { page } = editor;
  await inOrder(editor, [
    [
      "Cancel stops a program that never ends, and leaves no process",
      async () => {
        await page.locator(".view-line", { hasText: "hipscope-hangs" }).waitFor();
        await command(page, "hipscope: Profile This Program");
        const notification = page.locator(".notification-toast", { hasText: /Profil/ }).first();
        await notification.waitFor();
        await until(() => runs("hipscope-hangs"), "the program to run");
        await notification.getByText("Cancel", { exact: true }).click();
        await notification.waitFor({ state: "hidden" });
        await until(async () => !(await runs("hipscope-hangs")), "the program to be gone");
      },
    ],
  ]);
}

async function programInCpp() {
  const kernels = SOURCE.replace(/^int main/m, "int run");
  const editor = await startEditor({
    vsix: VSIX,
    files: {
      "kernels.h": kernels,
      "main.cpp": '#include "kernels.h"\n\nint main() {\n  return run();\n}\n',
    },
    open: "main.cpp",
    settings: BY_PATH,
  });
  await inOrder(editor, [
    [
      "a .cpp file that includes HIP through its own header is a GPU program: hipscope starts",
      () =>
        statusItem(editor.page)
          .filter({ hasText: /hipscope/ })
          .waitFor(),
    ],
    [
      "a save of it profiles the program",
      async () => {
        await editor.page.locator(".view-line", { hasText: "kernels.h" }).first().click();
        await editor.page.keyboard.press("Control+s");
        await broughtByJob(
          editor.page,
          statusItem(editor.page).filter({
            hasText: /finding|kernel|hipscope/,
          }),
        );
      },
    ],
  ]);
}

async function plainCpp() {
  const editor = await startEditor({
    vsix: VSIX,
    files: {
      "main.cpp": "#include <vector>\n\nint main() {\n  return 0;\n}\n",
    },
    open: "main.cpp",
    settings: BY_PATH,
  });
  await inOrder(editor, [
    [
      "a C++ file without GPU code has no server and no status item",
      async () => {
        await editor.page.locator(".view-line", { hasText: "main" }).first().waitFor();
        await editor.page.locator("#status\\.editor\\.mode").waitFor(); // the status bar is complete
        assert.equal(await statusItem(editor.page).count(), 0);
        assert.deepEqual(await serversIn(editor.workspace), []);
      },
    ],
  ]);
}

async function restrictedMode() {
  const editor = await startEditor({
    vsix: VSIX,
    files: { [EXAMPLE]: SOURCE },
    open: EXAMPLE,
    trusted: false,
    settings: BY_PATH,
  });
  await inOrder(editor, [
    [
      "a folder that is not trusted gets no server",
      async () => {
        const status = statusItem(editor.page);
        await status.locator(".codicon-shield").waitFor();
      },
    ],
  ]);
}

async function noServer() {
  const editor = await startEditor({
    vsix: VSIX,
    files: { [EXAMPLE]: SOURCE },
    open: EXAMPLE,
    settings: { "hipscope.serverPath": "/nowhere/hipscope" },
  });
  await inOrder(editor, [
    [
      "a server that cannot be started is reported, with what to do",
      async () => {
        const message = editor.page.locator(".notification-toast", { hasText: "/nowhere/hipscope" }).first();
        await message.waitFor();
        await message.getByText("Open Settings").waitFor();
      },
    ],
  ]);
}

/** Runs the checks of one editor; each builds on the one before, so the first failure ends the list. */
async function inOrder(editor, checks) {
  try {
    for (const [name, check] of checks) {
      const start = performance.now();
      try {
        await check();
        passed += 1;
        console.log(`ok    ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
      } catch (error) {
        failed += 1;
        const picture = join(PICTURES, "failure.png");
        await editor.page.screenshot({ path: picture });
        console.log(
          `FAIL  ${name}\n${error.stack}\nthe editor at that moment: ${picture}\n  ${await said(editor.page)}`,
        );
        return;
      }
    }
  } finally {
    await editor.stop();
  }
}

/** What the extension tells the user: the status item's label, and the messages that are open. */
async function said(page) {
  const label = await statusItem(page)
    .getAttribute("aria-label", { timeout: 1_000 })
    .catch(() => "no status item");
  const messages = await page.locator(".notification-toast").allInnerTexts();
  return [label, ...messages].map((text) => text.replaceAll(/\s+/g, " ").trim()).join("\n  ");
}

function statusItem(page) {
  return page.locator("#hipscope\\.hipscope\\.hipscope\\.status");
}

/** Waits for what a job is to bring; a job that fails ends the wait, with what it said. */
async function broughtByJob(page, result) {
  const failure = statusItem(page).locator(".codicon-error");
  await result.or(failure).first().waitFor({ timeout: JOB_TIMEOUT });
  if (await failure.isVisible()) throw new Error(`the job failed: ${await said(page)}`);
}

/** Runs a command by its title; a palette that opened before the command was known is opened again. */
async function command(page, title) {
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
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

/** Whether a process of that name runs on this machine. */
async function runs(name) {
  const names = await Promise.all(
    (await processes()).map((pid) => readFile(`/proc/${pid}/comm`, "utf8").catch(() => "")),
  );
  return names.some((other) => other.trim() === name);
}

/** Process ids of the language servers whose current folder that is. */
async function serversIn(folder) {
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

async function goToLine(page, line) {
  await page.keyboard.press("Escape"); // a hover that is open
  await page.keyboard.press("Control+g");
  const input = page.locator(".quick-input-widget input").first();
  await input.waitFor();
  await input.fill(`:${line}`);
  await page.keyboard.press("Enter");
  await page.locator(".quick-input-widget").waitFor({ state: "hidden" });
}

/** Numbers, in the margin, of the lines that have an element of the editor, without repeats. */
async function linesOf(page, selector, wanted = () => true) {
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
function tintedLines(page) {
  return linesOf(
    page,
    ".view-overlays .cdr",
    ({ background }) => !/rgba\(0, 0, 0, 0\)|transparent/.test(background),
  );
}

async function hoverMarkedLine(page) {
  const text = page
    .locator(".view-line", { hasText: "sum +=" })
    .locator("span > span", { hasText: "sum" })
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

/** Opens the light bulb's menu at the cursor and takes the entry; a menu that did not open is tried again. */
async function chooseAction(page, title) {
  const entry = page.locator(".action-widget .monaco-list-row", { hasText: title }).first();
  await goToLine(page, MARKED_LINE);
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
function plain(text) {
  return text.replace(/\u00a0/g, " ");
}

/** Asks until the answer is the expected one; the editor paints in several steps. */
async function untilEqual(ask, expected, timeout = 20_000) {
  const end = performance.now() + timeout;
  for (;;) {
    const answer = await ask();
    if (isDeepStrictEqual(answer, expected)) return;
    if (performance.now() > end) assert.deepEqual(answer, expected);
    await new Promise((next) => setTimeout(next, 100));
  }
}

async function until(condition, what, timeout = 60_000) {
  const end = performance.now() + timeout;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${timeout / 1000} s for ${what}`);
    await new Promise((next) => setTimeout(next, 100));
  }
}
