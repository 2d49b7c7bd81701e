// The server's own environment, made by one button from the wheel inside the extension. Takes uv or a Python of the machine,
// gives a server that starts. What is missing comes as the command that brings it, which another button runs.
import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import * as vscode from "vscode";
import { findOnPath, isExecutable, moduleLaunch } from "./launch";
import type { Launch } from "./launch";
import { runInTerminal } from "./terminal";

/** The newest first; `python3` is whatever the system has. */
const PYTHONS = ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"];
const OLDEST = "3.11";
const MARK = "installed";

type Step = readonly [program: string, ...args: string[]];

/** Something of the machine is missing; `command` brings it. */
class Missing extends Error {
  constructor(
    message: string,
    readonly command: string,
  ) {
    super(message);
  }
}

class Cancelled extends Error {}

export class Installer {
  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  /** How to start the server of the extension's own environment; undefined before it is complete. */
  async own(): Promise<Launch | undefined> {
    const complete = await readFile(join(this.#environment, MARK), "utf8").catch(() => undefined);
    return complete === undefined ? undefined : moduleLaunch(this.#python, "the extension's own environment");
  }

  /** Makes the environment and puts the wheel into it. True when the server can be started; a failure is shown. */
  async install(): Promise<boolean> {
    return this.#shown("Installing hipscope's server", async () => {
      const wheel = await this.#wheel();
      await rm(this.#environment, { recursive: true, force: true });
      await mkdir(dirname(this.#environment), { recursive: true });
      return [...(await this.#steps(wheel)), () => writeFile(join(this.#environment, MARK), wheel)];
    });
  }

  /** Puts the extension's wheel where the server that is used comes from, by the tool that installed it. */
  async update(launch: Launch): Promise<boolean> {
    const own = await this.own();
    if (launch.command === own?.command) return this.install();
    return this.#shown("Updating hipscope's server", async () => {
      const wheel = `${await this.#wheel()}[report]`;
      return [await updateStep(launch, wheel)];
    });
  }

  get #environment(): string {
    return join(this.context.globalStorageUri.fsPath, "server");
  }

  get #python(): string {
    return join(this.#environment, "bin", "python");
  }

  async #wheel(): Promise<string> {
    const folder = this.context.asAbsolutePath("server");
    const names = await readdir(folder).catch(() => []);
    const wheel = names.find((name) => name.endsWith(".whl"));
    if (wheel !== undefined) return join(folder, wheel);
    throw new Error(
      "This build of the extension has no server inside: take the one for Linux on x86-64, or install the Python package `hipscope`.",
    );
  }

  async #steps(wheel: string): Promise<Step[]> {
    const wanted = `${wheel}[report]`;
    const uv = await findUv();
    if (uv !== undefined)
      return [
        [uv, "venv", "--python", `>=${OLDEST}`, this.#environment],
        [uv, "pip", "install", "--python", this.#python, wanted],
      ];
    const python = await findPython();
    if (python === undefined)
      throw new Missing(
        `hipscope's server needs Python ${OLDEST} or newer.`,
        await installCommand([`python${OLDEST}`, `python${OLDEST}-venv`], [`python${OLDEST}`]),
      );
    if (!(await succeeds([python, "-c", "import ensurepip"])))
      throw new Missing(
        "Python's module venv is not complete on this machine.",
        await installCommand(["python3-venv"], ["python3-pip"]),
      );
    const quiet = ["--disable-pip-version-check", "--no-input"];
    return [
      [python, "-m", "venv", this.#environment],
      [this.#python, "-m", "pip", "install", ...quiet, wanted],
    ];
  }

  /** Runs what `plan` gives under a notification with Cancel. */
  async #shown(title: string, plan: () => Promise<(Step | (() => Promise<void>))[]>): Promise<boolean> {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    try {
      await vscode.window.withProgress(options, async (progress, cancel) => {
        for (const step of await plan()) {
          if (typeof step === "function") {
            await step();
            continue;
          }
          progress.report({
            message: step.includes("install") ? "the packages it needs" : "its environment",
          });
          await this.#run(step, cancel);
        }
      });
      return true;
    } catch (error) {
      if (!(error instanceof Cancelled)) void this.#explain(error);
      return false;
    }
  }

  async #run([program, ...args]: Step, cancel: vscode.CancellationToken): Promise<void> {
    this.log.info([program, ...args].join(" "));
    await new Promise<void>((resolve, reject) => {
      const child = execFile(program, args, { maxBuffer: 1 << 26 }, (error, output, errors) => {
        stop.dispose();
        this.log.info(`${output}${errors}`.trim());
        if (cancel.isCancellationRequested) reject(new Cancelled());
        else if (error) reject(new Error(lastLine(errors) || lastLine(output) || error.message));
        else resolve();
      });
      const stop = cancel.onCancellationRequested(() => child.kill());
    });
  }

  async #explain(error: unknown): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    this.log.error(reason);
    if (error instanceof Missing) {
      const [run, copy] = ["Run It in a Terminal", "Copy the Command"];
      const message = `${reason} This brings it: ${error.command}`;
      const chosen = await vscode.window.showErrorMessage(message, run, copy);
      if (chosen === run && (await runInTerminal(error.command)))
        await vscode.commands.executeCommand("hipscope.installServer");
      else if (chosen === copy) await vscode.env.clipboard.writeText(error.command);
      return;
    }
    const [again, log] = ["Try Again", "Show Log"];
    const chosen = await vscode.window.showErrorMessage(`hipscope's server: ${reason}`, again, log);
    if (chosen === again) await vscode.commands.executeCommand("hipscope.installServer");
    else if (chosen === log) this.log.show(true);
  }
}

/** What puts a wheel into the environment that a program is of: pipx and uv know theirs, else its own pip does. */
async function updateStep(launch: Launch, wheel: string): Promise<Step> {
  if (launch.args.includes("-m")) return [launch.command, "-m", "pip", "install", "--upgrade", wheel];
  const program = await realpath(launch.command);
  const environment = dirname(dirname(program));
  const uv = await findUv();
  if (/\/uv\/tools\//.test(program) && uv !== undefined) return [uv, "tool", "install", "--force", wheel];
  const pipx = await findOnPath("pipx");
  if (/\/pipx\/venvs\//.test(program) && pipx !== undefined) return [pipx, "install", "--force", wheel];
  const python = join(environment, "bin", "python");
  if (await succeeds([python, "-m", "pip", "--version"]))
    return [python, "-m", "pip", "install", "--upgrade", wheel];
  if (uv !== undefined) return [uv, "pip", "install", "--upgrade", "--python", python, wheel];
  throw new Error(`${launch.command} was installed by a tool that is not known here: update it with that.`);
}

async function findUv(): Promise<string | undefined> {
  const onPath = await findOnPath("uv");
  if (onPath !== undefined) return onPath;
  for (const folder of [join(homedir(), ".local", "bin"), join(homedir(), ".cargo", "bin")])
    if (await isExecutable(join(folder, "uv"))) return join(folder, "uv");
  return undefined;
}

async function findPython(): Promise<string | undefined> {
  const [major = "3", minor = "11"] = OLDEST.split(".");
  for (const name of PYTHONS) {
    const program = await findOnPath(name);
    const newEnough = `import sys; sys.exit(sys.version_info < (${major}, ${minor}))`;
    if (program !== undefined && (await succeeds([program, "-c", newEnough]))) return program;
  }
  return undefined;
}

/** The command of the machine's package manager that brings packages, by their names in Debian and in Fedora. */
async function installCommand(debian: readonly string[], fedora: readonly string[]): Promise<string> {
  const sudo = process.getuid?.() === 0 ? "" : "sudo ";
  if (await findOnPath("apt-get")) return `${sudo}apt-get install -y ${debian.join(" ")}`;
  if (await findOnPath("dnf")) return `${sudo}dnf install -y ${fedora.join(" ")}`;
  if (await findOnPath("zypper")) return `${sudo}zypper install -y ${fedora.join(" ").replaceAll(".", "")}`;
  return "pipx install uv";
}

function succeeds([program, ...args]: Step): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 20_000 }, (error) => {
      resolve(error === null);
    });
  });
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}
