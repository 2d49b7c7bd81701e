// How to start the server. Takes the settings and the Python extension's choice; gives a command line, or says
// what to do.
import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { promisify } from "node:util";
import * as vscode from "vscode";

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** Where this choice comes from, for the log. */
  readonly origin: string;
}

/** Nothing that has hipscope was found, which *Install* mends. */
export class NotInstalled extends Error {}

/** A setting names what cannot start; the message says which. */
export class NoServer extends Error {}

/**
 * `hipscope.serverPath`, else `hipscope.interpreter`, the Python extension's interpreter, the folder's `.venv`, `hipscope`
 * on PATH or where pipx, uv and pip put it, else the extension's `own` environment.
 */
export async function findServer(
  folder: vscode.WorkspaceFolder | undefined,
  own: () => Promise<Launch | undefined>,
): Promise<Launch> {
  const settings = vscode.workspace.getConfiguration("hipscope", folder?.uri);
  const serverPath = expand(settings.get("serverPath", ""), folder);
  if (serverPath) {
    if (!(await isExecutable(serverPath)))
      throw new NoServer(`hipscope.serverPath is ${serverPath}, which is not a program that can be started.`);
    return { command: serverPath, args: ["lsp"], origin: "the setting hipscope.serverPath" };
  }
  const interpreter = expand(settings.get("interpreter", ""), folder);
  if (interpreter) {
    if (!(await hasHipscope(interpreter)))
      throw new NoServer(
        `hipscope.interpreter is ${interpreter}, which is not a Python 3.11 or newer with hipscope installed.`,
      );
    return moduleLaunch(interpreter, "the setting hipscope.interpreter");
  }
  const selected = await selectedInterpreter(folder);
  if (selected && (await hasHipscope(selected)))
    return moduleLaunch(selected, "the Python extension's interpreter");
  const local = folder && join(folder.uri.fsPath, ".venv", "bin", "python");
  if (local && (await hasHipscope(local))) return moduleLaunch(local, "the folder's .venv");
  const onPath = await findOnPath("hipscope");
  if (onPath) return { command: onPath, args: ["lsp"], origin: "PATH" };
  for (const [program, origin] of usualPlaces())
    if (await isExecutable(program)) return { command: program, args: ["lsp"], origin };
  const made = await own();
  if (made) return made;
  throw new NotInstalled("hipscope's server is not installed on this machine.");
}

/** Where pip, pipx and uv put programs of a user, which an editor's PATH often lacks. */
function usualPlaces(): [string, string][] {
  const home = homedir();
  const data = process.env["XDG_DATA_HOME"] ?? join(home, ".local", "share");
  const pipx = process.env["PIPX_HOME"] ?? join(data, "pipx");
  const uv = process.env["UV_TOOL_DIR"] ?? join(data, "uv", "tools");
  return [
    [join(home, ".local", "bin", "hipscope"), "~/.local/bin"],
    [join(pipx, "venvs", "hipscope", "bin", "hipscope"), "pipx"],
    [join(home, ".local", "pipx", "venvs", "hipscope", "bin", "hipscope"), "pipx"],
    [join(uv, "hipscope", "bin", "hipscope"), "uv"],
  ];
}

/** The Python extension's documented environment API, as far as it is used here. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** The Python extension's API, or undefined where that extension is not installed or does not start. */
export async function pythonApi(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<Partial<PythonApi> | undefined>("ms-python.python");
  try {
    const api = await extension?.activate();
    return api?.environments ? { environments: api.environments } : undefined;
  } catch {
    return undefined;
  }
}

async function selectedInterpreter(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
  const environments = (await pythonApi())?.environments;
  const environment = await environments?.resolveEnvironment(
    environments.getActiveEnvironmentPath(folder?.uri),
  );
  return environment?.executable.uri?.fsPath;
}

/** `-P`: the server runs in the user's folder, and a `json.py` there must not be taken for Python's own. */
export function moduleLaunch(interpreter: string, origin: string): Launch {
  return { command: interpreter, args: ["-P", "-m", "hipscope.server", "lsp"], origin };
}

async function hasHipscope(interpreter: string): Promise<boolean> {
  const probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('hipscope.server') is None)";
  try {
    await promisify(execFile)(interpreter, ["-P", "-c", probe], { timeout: 20_000 });
    return true;
  } catch {
    return false;
  }
}

function expand(path: string, folder: vscode.WorkspaceFolder | undefined): string {
  const home = path === "~" || path.startsWith("~/") ? homedir() + path.slice(1) : path;
  return home.trim().replaceAll("${workspaceFolder}", folder?.uri.fsPath ?? "");
}

export async function findOnPath(program: string): Promise<string | undefined> {
  const names = process.platform === "win32" ? [`${program}.exe`] : [program];
  for (const directory of (process.env["PATH"] ?? "").split(delimiter).filter(isAbsolute)) {
    for (const name of names) {
      if (await isExecutable(join(directory, name))) return join(directory, name);
    }
  }
  return undefined;
}

export async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
