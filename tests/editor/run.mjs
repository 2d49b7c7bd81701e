// The main job in a real editor: open a HIP file, profile it, see the marked line, hover it, apply the rewrite.
// Takes the packaged extension and the installed server; prints a line per check and "N passed, N failed".
// Arguments name the parts to run, such as `mainJob`; without any all run.
// HIPSCOPE_UPDATE_SCREENSHOTS=1 rewrites docs/images/*.png; otherwise pictures go to $OUT or build/editor.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { startEditor } from "./editor.mjs";
import { FAILING, failureChecks, installerIn } from "./failures.mjs";
import {
  JOB_TIMEOUT,
  broughtByJob,
  chooseAction,
  chooseTheme,
  chord,
  command,
  cursorLine,
  goToLine,
  hoverMarkedLine,
  kernelTime,
  linesOf,
  plain,
  preview,
  ready,
  runs,
  said,
  serversIn,
  statusItem,
  tintedLines,
  until,
  untilEqual,
} from "./page.mjs";

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

const EXAMPLE = "lds_column_read.hip";
const SOURCE = readFileSync(join(ROOT, "examples", EXAMPLE), "utf8");
const MARKED_LINE =
  SOURCE.split("\n").findIndex((line) => line.includes("hipscope: expect bankConflict")) + 1;
const KERNEL_LINE = SOURCE.split("\n").findIndex((line) => line.includes("__global__")) + 1;
const HANGS = readFileSync(join(import.meta.dirname, "hangs.hip"), "utf8");
// A file of the user's whose name is that of a Python module which the server needs.
const SHADOW = "raise SystemExit('the json.py of the workspace was imported')\n";
const DECLARATION = "__shared__ float tile[kTile][kTile];";

/** Findings and errors; hot lines without a finding are hints, which are dotted. */
const SQUIGGLE = ".squiggly-error, .squiggly-warning, .squiggly-info";

let passed = 0;
let failed = 0;
mkdirSync(PICTURES, { recursive: true });
const PARTS = {
  mainJob,
  review,
  threeVersions,
  openCapture,
  project,
  cancelling,
  failures,
  programInCpp,
  plainCpp,
  restrictedMode,
  noServer,
};
const asked = process.argv.slice(2);
const wanted = (part) => asked.length === 0 || asked.includes(part.name);
// Most of the first minute is a download: it goes on beside the others.
const installing = wanted(firstMinute) ? firstMinute() : undefined;
for (const part of Object.values(PARTS).filter(wanted)) await part();
await installing;
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
  const currentTime = () => kernelTime(page);
  let timeBefore = null;
  await inOrder(editor, [
    [
      "the installed extension starts the server when a HIP file is open",
      async () => {
        await ready(page);
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
    [
      "the status bar has the program's time, its top kernel, what binds it, and the number of findings",
      () => status.filter({ hasText: /^\s*[\d.]+ us · \w+ · .* bound · 1 finding\s*$/ }).waitFor(),
    ],
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
      "the marks can be seen in a light and in a high-contrast theme, too",
      async () => {
        const themes = {
          light: "Light Modern",
          contrast: "Dark High Contrast",
        };
        for (const [name, theme] of Object.entries(themes)) {
          await chooseTheme(page, theme);
          await page
            .locator(name === "light" ? ".monaco-workbench.vs" : ".monaco-workbench.hc-black")
            .waitFor();
          await untilEqual(async () => (await tintedLines(page)).includes(MARKED_LINE), true);
          await page.screenshot({ path: join(PICTURES, `editor-${name}.png`) });
        }
        await chooseTheme(page, "Dark Modern");
        await page.locator(".monaco-workbench.vs-dark").waitFor();
      },
    ],
    [
      "by keyboard only: the hottest line, its page with remedy and roofline, the instruction that waits, and back",
      async () => {
        await goToLine(page, 1);
        await chord(page, "h");
        await untilEqual(() => cursorLine(page), MARKED_LINE);
        await chord(page, "e");
        const tab = page
          .locator(".tab", {
            hasText: new RegExp(`Line ${String(MARKED_LINE)} of`),
          })
          .first();
        await tab.waitFor();
        await preview(page).getByText("What helps").first().waitFor();
        const roofline = preview(page).locator("img").first();
        await untilEqual(() => roofline.evaluate((image) => image.naturalWidth > 0), true);
        await page.screenshot({ path: join(PICTURES, "explained.png") });
        await page.keyboard.press("Control+1");
        await page.locator(".editor-group-container.active .monaco-editor.focused").first().waitFor();
        await chord(page, "i");
        await page
          .locator(".editor-group-container.active .tab.active", {
            hasText: /\.s$/,
          })
          .waitFor();
        await chord(page, "s");
        await untilEqual(() => cursorLine(page), MARKED_LINE);
        await command(page, "View: Single Column Editor Layout");
      },
    ],
    [
      "the light bulb offers the rewrite: its change is shown beside the text, which stays",
      async () => {
        await chooseAction(page, MARKED_LINE, /Optimize kernel/i);
        await broughtByJob(page, page.locator(".monaco-diff-editor").first());
        await page.locator(".notification-toast", { hasText: /x as fast \(modelled\)/ }).waitFor();
        await page.screenshot({ path: join(PICTURES, "proposal.png") });
      },
    ],
    [
      "the evidence opens as a page: what was compared, and the numbers before and after",
      async () => {
        await command(page, "hipscope: Show What Proves the Rewrite");
        await page
          .locator(".tab", { hasText: /What proves/ })
          .first()
          .waitFor();
        await page.screenshot({ path: join(PICTURES, "evidence.png") });
      },
    ],
    [
      "Reject leaves the text as it was, once, and nothing of the rewrite",
      async () => {
        await command(page, "hipscope: Reject the Rewrite");
        await page.locator(".monaco-diff-editor").first().waitFor({ state: "hidden" });
        await page.locator(".tab", { hasText: /What proves/ }).waitFor({ state: "hidden" });
        await untilEqual(() => page.locator(".tab", { hasText: EXAMPLE }).count(), 1);
        await page.locator(".view-line", { hasText: DECLARATION }).first().waitFor();
        assert.equal(await readFile(join(editor.workspace, EXAMPLE), "utf8"), SOURCE);
      },
    ],
    [
      "Accept puts the verified edit into the buffer",
      async () => {
        await until(async () => (timeBefore = await currentTime()) !== null, "the time of the kernel");
        await chooseAction(page, MARKED_LINE, /Optimize kernel/i);
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
        await status.filter({ hasNotText: /finding/ }).waitFor();
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

/** The program as a whole, and a rewrite from its first candidate to the comparison of the profiles before and after. */
async function review() {
  const editor = await startEditor({
    vsix: VSIX,
    files: { [EXAMPLE]: SOURCE },
    open: EXAMPLE,
    settings: BY_INTERPRETER,
  });
  const { page } = editor;
  const currentTime = () => kernelTime(page);
  let timeBefore = null;
  let timeAfter = null;
  await inOrder(editor, [
    [
      "a profile is shown",
      async () => {
        await ready(page);
        await goToLine(page, MARKED_LINE);
        await command(page, "hipscope: Profile This Program");
        await broughtByJob(page, page.locator(SQUIGGLE).first());
        await until(async () => (timeBefore = await currentTime()) !== null, "the time of the kernel");
      },
    ],
    [
      "the tree of kernels leads to a kernel and to its finding",
      async () => {
        await goToLine(page, 1);
        await command(page, "Focus on GPU Kernels View");
        const rows = page.locator(".pane", { hasText: "GPU Kernels" }).locator(".monaco-list-row");
        await rows.filter({ hasText: /bound/ }).first().click();
        await untilEqual(() => cursorLine(page), KERNEL_LINE);
        await rows.filter({ hasText: "bankConflict" }).first().click();
        await untilEqual(() => cursorLine(page), MARKED_LINE);
        await page.screenshot({ path: join(PICTURES, "kernels.png") });
        await command(page, "View: Toggle Primary Side Bar Visibility");
      },
    ],
    [
      "the light bulb offers the rewrite",
      async () => {
        await chooseAction(page, MARKED_LINE, /Optimize kernel/i);
        await broughtByJob(page, page.locator(".monaco-diff-editor").first());
      },
    ],
    [
      "Next Candidate shows another rewrite in its place, or says that there is none and shows the same again",
      async () => {
        const toast = page.locator(".notification-toast", { hasText: /x as fast \(modelled\)/ }).last();
        const first = plain(await toast.innerText());
        await command(page, "hipscope: Show the Next Candidate");
        const none = page.locator(".notification-toast", {
          hasText: "no other rewrite was verified",
        });
        const another = toast.filter({ hasNotText: first.split("\n")[0] });
        await broughtByJob(page, none.or(another));
        await page.screenshot({ path: join(PICTURES, "next-candidate.png") });
        assert.equal(await page.locator(".monaco-diff-editor").count(), 1);
      },
    ],
    [
      "Accept shows the new numbers, and a save keeps them",
      async () => {
        await command(page, "hipscope: Accept the Rewrite");
        await page.locator(".monaco-diff-editor").first().waitFor({ state: "hidden" });
        await page.keyboard.press("Control+s");
        await until(
          async () => (timeAfter = await currentTime()) !== null && timeAfter !== timeBefore,
          "the new time of the kernel",
          JOB_TIMEOUT,
        );
      },
    ],
    [
      "Undo shows the old numbers again, Redo the new ones, without another profile",
      async () => {
        await goToLine(page, MARKED_LINE);
        await page.keyboard.press("Control+z");
        await untilEqual(currentTime, timeBefore);
        await untilEqual(() => linesOf(page, SQUIGGLE), [MARKED_LINE]);
        await page.keyboard.press("Control+Shift+z");
        await untilEqual(currentTime, timeAfter);
      },
    ],
    [
      "two profiles of the history are compared as a page: the time before and after",
      async () => {
        await command(page, "hipscope: Compare Two Profiles", { stays: true });
        const list = page.locator(".quick-input-widget");
        for (const which of ["before", "after"]) {
          await list.filter({ hasText: `the profile ${which}` }).waitFor();
          await list.locator(".monaco-list-row").first().waitFor();
          await page.keyboard.press("Enter");
        }
        await preview(page).getByText("smooth_transpose").first().waitFor();
        await page.screenshot({ path: join(PICTURES, "compared.png") });
        await command(page, "View: Single Column Editor Layout");
      },
    ],
  ]);
}

/** Two commits and a change that is not one: the lens names the commit, a checkout brings its numbers back, any two are compared. */
async function threeVersions() {
  const editor = await startEditor({
    vsix: VSIX,
    files: { [EXAMPLE]: SOURCE },
    open: EXAMPLE,
    settings: BY_PATH,
  });
  const { page, workspace } = editor;
  const git = async (...words) => {
    const given = ["-c", "user.name=t", "-c", "user.email=t@example.org", ...words];
    return (await promisify(execFile)("git", given, { cwd: workspace })).stdout.trim();
  };
  const commit = async (words) => {
    await git("commit", "-qam", words);
    return git("rev-parse", "--short=7", "HEAD");
  };
  const lens = async () => plain((await page.locator(".codelens-decoration").allInnerTexts()).join());
  const times = {};
  const commits = {};
  const profiled = async (name, words) => {
    await command(page, "hipscope: Profile This Program");
    await until(async () => words.test(await lens()), `a lens with ${words}`, JOB_TIMEOUT);
    times[name] = await kernelTime(page);
  };
  const padded = SOURCE.replace("tile[kTile][kTile]", "tile[kTile][kTile + 1]");
  await inOrder(editor, [
    [
      "the first version has its time",
      async () => {
        await git("init", "-q");
        await git("add", "-A");
        commits.first = await commit("first");
        await ready(page);
        await profiled("first", /modelled/);
      },
    ],
    [
      "after a commit from outside the lens says since which commit the kernel gained",
      async () => {
        await writeFile(join(workspace, EXAMPLE), padded);
        commits.second = await commit("second");
        await page.locator(".view-line", { hasText: "kTile + 1" }).waitFor();
        await profiled("second", new RegExp(`-\\d+ % since ${commits.first}`));
        assert.notEqual(times.second, times.first);
      },
    ],
    [
      "a checkout brings the numbers of that version back without another profile",
      async () => {
        await git("checkout", "-q", commits.first);
        await untilEqual(() => kernelTime(page), times.first);
        await untilEqual(() => linesOf(page, SQUIGGLE), [MARKED_LINE]);
        await git("checkout", "-q", "-");
        await untilEqual(() => kernelTime(page), times.second);
      },
    ],
    [
      "a slower text that is not committed is marked, and says since when",
      async () => {
        await writeFile(join(workspace, EXAMPLE), padded.replace("kWindow = 8", "kWindow = 32"));
        await page.locator(".view-line", { hasText: "kWindow = 32" }).waitFor();
        await profiled("third", new RegExp(`\\+\\d+ % since ${commits.second}`));
      },
    ],
    [
      "any two of them are compared as a page",
      async () => {
        await command(page, "hipscope: Compare Two Profiles", { stays: true });
        const list = page.locator(".quick-input-widget");
        for (const [which, name] of [
          ["before", commits.first],
          ["after", commits.second],
        ]) {
          await list.filter({ hasText: `the profile ${which}` }).waitFor();
          await list
            .locator(".monaco-list-row", { hasText: new RegExp(`^\\s*${name}(?!\\+)`) })
            .first()
            .click();
        }
        await preview(page).getByText("smooth_transpose").first().waitFor();
        await preview(page).getByText(`${commits.first} to ${commits.second}`).first().waitFor();
      },
    ],
  ]);
}

/** A capture of an H200 on the file that it is of: nothing is built or run. */
async function openCapture() {
  const folder = join(ROOT, "tests/data/captures/h200_ncu");
  const file = (name) => readFileSync(join(folder, name), "utf8");
  const source = file("transpose.cu");
  const read = source.split("\n").findIndex((text) => text.includes("= tile[threadIdx.x]")) + 1;
  const editor = await startEditor({
    vsix: VSIX,
    files: {
      "transpose.cu": source,
      "source.csv": file("source.csv"),
      "raw.csv": file("raw.csv"),
    },
    open: "transpose.cu",
    settings: BY_PATH,
  });
  const { page, workspace } = editor;
  await inOrder(editor, [
    [
      "Open Profile puts the marks of a capture from a GPU on the file",
      async () => {
        await ready(page);
        await command(page, "hipscope: Open Profile", { stays: true });
        await page
          .locator(".quick-input-list .monaco-list-row", {
            hasText: "A folder",
          })
          .first()
          .click();
        const input = page.locator(".quick-input-widget input").first();
        await until(async () => (await input.inputValue()).startsWith("/"), "the dialog of folders");
        await input.fill(`${workspace}/`);
        await page.keyboard.press("Enter");
        await broughtByJob(page, page.locator(SQUIGGLE).first());
        await untilEqual(() => linesOf(page, SQUIGGLE), [read]);
        await until(
          async () =>
            /measured 158 us/.test(
              plain((await page.locator(".codelens-decoration").allInnerTexts()).join()),
            ),
          "the measured time over the kernel",
        );
      },
    ],
    [
      "its hover says what the lanes do and that the time was measured",
      async () => {
        await command(page, "View: Toggle Primary Side Bar Visibility"); // room for the code
        const hover = plain(await (await hoverMarkedLine(page, "= tile[threadIdx.x]", "tile")).innerText());
        assert.match(hover, /by column/);
        assert.match(hover, /measured/);
        await page.screenshot({ path: join(PICTURES, "capture.png") });
      },
    ],
  ]);
}

/** A fresh machine: the extension alone, no server anywhere, no terminal. */
async function firstMinute() {
  const home = await mkdtemp(join(tmpdir(), "hipscope-home-"));
  const editor = await startEditor({
    vsix: VSIX,
    files: { [EXAMPLE]: SOURCE },
    open: EXAMPLE,
    trusted: "ask",
    env: freshHome(home),
  });
  const { page } = editor;
  let interactions = 0;
  const click = async (target) => {
    await target.click();
    interactions += 1;
  };
  let frames = 0;
  const frame = async () => {
    frames += 1;
    await page.screenshot({
      path: join(PICTURES, `first-minute-${String(frames)}.png`),
    });
  };
  await inOrder(editor, [
    [
      "a fresh machine is asked for trust, then offers to install the server",
      async () => {
        const trust = page.locator(".monaco-dialog-box .monaco-button", {
          hasText: /Yes, I trust/,
        });
        await trust.waitFor();
        await frame();
        await click(trust);
        await page.locator(".notification-toast", { hasText: "is not installed" }).first().waitFor();
        await frame();
      },
    ],
    [
      "Install makes the extension's own environment and starts the server",
      async () => {
        await click(
          page.locator(".notification-toast .monaco-button", {
            hasText: /^Install$/,
          }),
        );
        await page.locator(".notification-toast", { hasText: "Installing" }).first().waitFor();
        await frame();
        const started = statusItem(page).filter({
          hasText: /^\s*hipscope\s*$/,
        });
        const failure = page.locator(".notification-toast", {
          hasText: /Try Again|In a Terminal/,
        });
        await started
          .locator(".codicon-flame")
          .or(failure)
          .first()
          .waitFor({ timeout: 5 * JOB_TIMEOUT });
        const [server] = await serversIn(editor.workspace);
        assert.match(await readlink(`/proc/${server}/exe`), /python/);
        assert.match(await readFile(`/proc/${server}/cmdline`, "utf8"), /globalStorage.hipscope\.hipscope/);
      },
    ],
    [
      "a save then shows the finding: five interactions at most, and no terminal",
      async () => {
        await click(page.locator(".view-line", { hasText: "__global__" }).first());
        await page.keyboard.press("Control+s");
        interactions += 1;
        await broughtByJob(page, page.locator(SQUIGGLE).first());
        await goToLine(page, MARKED_LINE);
        await untilEqual(() => linesOf(page, SQUIGGLE), [MARKED_LINE]);
        await frame();
        assert.ok(interactions <= 5, `${interactions} interactions`);
        assert.equal(await page.locator(".terminal-wrapper").count(), 0);
      },
    ],
  ]);
  await rm(home, { recursive: true, force: true });
}

/** A home without anything of hipscope, and a PATH without it; downloads that were kept are taken from there. */
function freshHome(home) {
  const folders = (process.env.PATH ?? "")
    .split(":")
    .filter((folder) => !existsSync(join(folder, "hipscope")));
  const kept = process.env.PIP_CACHE_DIR ?? join(homedir(), ".cache/pip");
  const settings = join(homedir(), ".config/pip/pip.conf");
  return {
    HOME: home,
    PATH: folders.join(":"),
    PIP_CACHE_DIR: kept,
    ...(existsSync(settings) && !process.env.PIP_CONFIG_FILE && { PIP_CONFIG_FILE: settings }),
  };
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

/** One session with a program for each failure, each with a cache that is its own: a button empties it. */
async function failures() {
  const machine = await mkdtemp(join(tmpdir(), "hipscope-machine-"));
  const path = `${join(machine, "bin")}:${process.env.PATH ?? ""}`;
  const editor = await startEditor({
    vsix: VSIX,
    files: FAILING,
    open: "syntax.hip",
    settings: { ...BY_PATH, "terminal.integrated.env.linux": { PATH: path } },
    env: {
      HIPSCOPE_WORKER: join(import.meta.dirname, "lacking_worker.py"),
      PATH: path,
      XDG_CACHE_HOME: join(machine, "cache"),
    },
  });
  await installerIn(join(machine, "bin"), editor.workspace);
  await inOrder(editor, failureChecks(editor, PICTURES), { independent: true });
  await rm(machine, { recursive: true, force: true });
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

/** A program of two sources with a Makefile: the question, the input box of arguments, the machine code beside the source. */
async function project() {
  const source = SOURCE.replace(
    "int main() {",
    "int rounds(const char* word);\n\nint main(int argc, char** argv) {\n  if (argc < 2 || rounds(argv[1]) < 1) return 2;",
  );
  const line = source.split("\n").findIndex((text) => text.includes("hipscope: expect bankConflict")) + 1;
  const editor = await startEditor({
    vsix: VSIX,
    files: {
      Makefile: "smooth: smooth.hip host.cpp\n\thipcc -O3 -o $@ $^\n\nrun: smooth\n\t./smooth 3\n",
      "host.cpp": "#include <cstdlib>\n\nint rounds(const char* word) { return std::atoi(word); }\n",
      "smooth.hip": source,
    },
    open: "smooth.hip",
    settings: BY_PATH,
  });
  const { page, workspace } = editor;
  const settings = () => readFile(join(workspace, "hipscope.toml"), "utf8").catch(() => "");
  await inOrder(editor, [
    [
      "the question comes before the first build; Use it writes hipscope.toml and profiles",
      async () => {
        await ready(page);
        await page.locator(".view-line", { hasText: "Smooths" }).first().click();
        await page.keyboard.press("Control+s");
        const question = page.locator(".notification-toast", { hasText: "./smooth 3" }).first();
        await question.waitFor();
        assert.equal(await settings(), "");
        await page.screenshot({ path: join(PICTURES, "question.png") });
        // The message hides after some seconds; the status item says that an answer is awaited and leads to it.
        await page.keyboard.press("Escape");
        await question.waitFor({ state: "hidden" });
        await statusItem(page).filter({ hasText: "hipscope asks" }).click();
        await page.locator(".notifications-center .monaco-button", { hasText: /^Use it$/ }).click();
        await until(async () => /make/.test(await settings()), "hipscope.toml");
        await goToLine(page, line);
        await broughtByJob(page, page.locator(SQUIGGLE).first());
        await untilEqual(() => linesOf(page, SQUIGGLE), [line]);
      },
    ],
    [
      "Set This Program's Arguments, typed into the box, writes them into hipscope.toml",
      async () => {
        await command(page, "hipscope: Set This Program's Arguments");
        const input = page.locator(".quick-input-widget input").first();
        const other = page.locator(".quick-input-list .monaco-list-row", {
          hasText: "Other arguments",
        });
        const box = page.locator(".quick-input-widget", {
          hasText: "As in a shell",
        });
        await other.or(box).first().waitFor();
        if (await other.isVisible()) await other.click();
        await box.waitFor();
        await input.fill("7");
        await page.keyboard.press("Enter");
        await until(async () => /\.\/smooth 7/.test(await settings()), "the arguments in hipscope.toml");
      },
    ],
    [
      "the machine code opens beside the source, and the cursor on one side marks the other",
      async () => {
        await goToLine(page, line);
        await command(page, "hipscope: Show the Kernel's Machine Code Beside");
        const row = page.locator(".view-line", { hasText: /ds_read/ }).first();
        await row.waitFor();
        await page.screenshot({ path: join(PICTURES, "isa.png") });
        await row.click();
        await page
          .locator(".editor-group-container.active .tab.active", {
            hasText: /\.s$/,
          })
          .waitFor();
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
      "a setting that names no program is reported, with what to do",
      async () => {
        const message = editor.page.locator(".notification-toast", { hasText: "/nowhere/hipscope" }).first();
        await message.waitFor();
        await message.getByText("Open Settings").waitFor();
      },
    ],
  ]);
}

/** Runs the checks of one editor. Unless they are independent each builds on the one before: the first failure ends the list. */
async function inOrder(editor, checks, { independent = false } = {}) {
  try {
    for (const [name, check] of checks) {
      const start = performance.now();
      try {
        await check();
        passed += 1;
        console.log(`ok    ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
      } catch (error) {
        failed += 1;
        const picture = join(PICTURES, `failure-${String(failed)}.png`);
        await editor.page.screenshot({ path: picture });
        console.log(
          `FAIL  ${name}\n${error.stack}\nthe editor at that moment: ${picture}\n  ${await said(editor.page)}`,
        );
        if (!independent) return;
      }
    }
  } finally {
    await editor.stop();
  }
}
