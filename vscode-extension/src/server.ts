// The server's life: start, restart, stop. Takes a workspace, keeps one language client running in it.
import * as vscode from "vscode";
import {
  CloseAction,
  DidChangeConfigurationNotification,
  ErrorAction,
  LanguageClient,
  State,
} from "vscode-languageclient/node";
import type { LanguageClientOptions } from "vscode-languageclient/node";
import { askForArguments } from "./arguments";
import { Ends } from "./ends";
import type { Heat } from "./heat";
import type { Installer } from "./install";
import { Jobs } from "./jobs";
import type { Keys } from "./keys";
import { findServer, NoServer, NotInstalled } from "./launch";
import type { Launch } from "./launch";
import type { Pages } from "./pages";
import type { Proposals } from "./proposals";
import {
  commandNotification,
  EXTENSION_MARK,
  heatNotification,
  pageNotification,
  proposalNotification,
  saveNotification,
  SERVER_METRICS,
  SERVER_PROFILE,
  setArgumentsNotification,
  statusNotification,
} from "./protocol";
import type { StatusItem } from "./status";
import { runInTerminal } from "./terminal";

/** Messages that may be lost before the server is given up. */
const BROKEN_MESSAGES = 3;

/** Documents that the server gets. `.hip` and `.cu` are `cuda-cpp` here, so clangd keeps working on them. */
export const DOCUMENTS = [
  { scheme: "file", language: "cuda-cpp" },
  { scheme: "file", language: "hip" },
  { scheme: "file", language: "cpp" },
  { scheme: "file", pattern: "**/hipscope.toml" },
];

export class Server {
  readonly jobs = new Jobs(() => this.#client);
  #client: LanguageClient | undefined;
  readonly #ends = new Ends();
  /** Set while a server that has ended is cleaned up: what to do then. */
  #whenStopped: (() => void) | undefined;
  #launch: Launch | undefined;
  #offered = false;
  /** Starts and stops run one after the other, in the order they were asked for. */
  #queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: vscode.LogOutputChannel,
    private readonly status: StatusItem,
    private readonly heat: Heat,
    private readonly keys: Keys,
    private readonly proposals: Proposals,
    private readonly pages: Pages,
    private readonly installer: Installer,
    private readonly version: string,
    private readonly profileChanged: () => void,
  ) {}

  /** The client of a server that runs and can be asked. */
  get client(): LanguageClient | undefined {
    return this.#client?.isRunning() ? this.#client : undefined;
  }

  /** Resolves when a start that is under way has ended, well or not. */
  get settled(): Promise<void> {
    return this.#queue;
  }

  /** Starts the server, anew if it runs. Never rejects: a failure is shown to the user, with what to do. */
  restart(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  stop(): Promise<void> {
    return this.#enqueue(() => this.#stop());
  }

  /** Makes the extension's own environment for the server, and starts it from there. */
  install(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#stop();
      this.status.set({ state: "starting", message: "installing the server" });
      if (await this.installer.install()) await this.#start();
      else this.status.set({ state: "missing" });
    });
  }

  /** Puts the extension's version of the server in place of the one that is used; installs it where there is none. */
  async update(): Promise<void> {
    const launch = this.#launch;
    if (launch === undefined) return this.install();
    return this.#enqueue(async () => {
      await this.#stop();
      this.status.set({ state: "starting", message: "updating the server" });
      await this.installer.update(launch);
      await this.#start();
    });
  }

  /** Tells the server that settings changed; it asks for those it wants, by file. */
  async settingsChanged(): Promise<void> {
    if (this.#client?.state !== State.Running) return;
    await this.#client.sendNotification(DidChangeConfigurationNotification.type, {
      settings: { hipscope: currentSettings() },
    });
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(step).catch((error: unknown) => {
      this.log.error(String(error));
    });
    return this.#queue;
  }

  async #start(): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      this.status.set({ state: "untrusted" });
      return;
    }
    this.status.set({ state: "starting" });
    try {
      this.#launch = undefined;
      const launch = await findServer(vscode.workspace.workspaceFolders?.[0], () => this.installer.own());
      this.#launch = launch;
      this.log.info(`server: ${[launch.command, ...launch.args].join(" ")} (from ${launch.origin})`);
      this.#client = this.#createClient(launch, { ...process.env, ...(await this.keys.environment()) });
      await this.#client.start();
      void this.#offerUpdate();
    } catch (error) {
      this.#client = undefined;
      const message = error instanceof Error ? error.message : String(error);
      const known = error instanceof NoServer || error instanceof NotInstalled;
      this.log.error(message);
      this.status.set({ state: known ? "missing" : "stopped", message });
      void this.#explain(known ? message : `The hipscope server did not start: ${message}`, error);
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    if (!client) return;
    try {
      await client.dispose();
    } catch (error) {
      this.log.warn(`the server did not stop cleanly: ${String(error)}`);
    }
  }

  #createClient(launch: Launch, env: NodeJS.ProcessEnv): LanguageClient {
    const folder = vscode.workspace.workspaceFolders?.[0];
    const options: LanguageClientOptions = {
      documentSelector: DOCUMENTS,
      outputChannel: this.log,
      traceOutputChannel: this.log,
      initializationOptions: { [EXTENSION_MARK]: true, settings: currentSettings() },
      middleware: this.jobs.middleware,
      errorHandler: {
        error: (_error, _message, count) => ({
          action: (count ?? 0) <= BROKEN_MESSAGES ? ErrorAction.Continue : ErrorAction.Shutdown,
        }),
        // Started from here, not by the client: what goes wrong then is explained as for any start.
        closed: () => {
          if (this.client !== undefined) this.#ended();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      markdown: { isTrusted: { enabledCommands: ["hipscope.openPage", SERVER_METRICS] } },
    };
    const executable = {
      command: launch.command,
      args: [...launch.args],
      options: folder ? { cwd: folder.uri.fsPath, env } : { env },
    };
    const client = new LanguageClient("hipscope", "hipscope", executable, options);
    client.onNotification(heatNotification, (heat) => {
      this.heat.show(heat);
      this.status.refresh();
      this.profileChanged();
    });
    client.onNotification(statusNotification, (status) => {
      this.status.set(status);
    });
    client.onNotification(proposalNotification, (proposal) => {
      void this.proposals.show(proposal);
    });
    client.onNotification(pageNotification, (page) => {
      void this.pages.show(page);
    });
    client.onNotification(setArgumentsNotification, ({ uri }) => {
      void askForArguments(client, uri);
    });
    client.onNotification(commandNotification, async ({ command, how, uri }) => {
      if (how === "copy") await vscode.env.clipboard.writeText(command);
      else if (how === "log") this.log.show(true);
      else if ((await runInTerminal(command)) && uri !== undefined)
        await vscode.commands.executeCommand(SERVER_PROFILE, { uri });
    });
    client.onNotification(saveNotification, async ({ uri }) => {
      await (await vscode.workspace.openTextDocument(vscode.Uri.parse(uri))).save();
    });
    client.onDidChangeState(({ newState }) => {
      this.#follow(newState);
    });
    return client;
  }

  #follow(state: State): void {
    void vscode.commands.executeCommand("setContext", "hipscope.serverRunning", state === State.Running);
    if (state === State.Running) this.status.set({ state: "idle" });
    if (state === State.Starting) this.status.set({ state: "starting" });
    if (state === State.Stopped || state === State.StartFailed) {
      this.jobs.endAll();
      this.heat.clear();
      this.status.set({ state: "stopped" });
      this.#whenStopped?.();
      this.#whenStopped = undefined;
    }
  }

  /** A server ended by itself: another one is started, unless that goes on and on. */
  #ended(): void {
    const lost = this.status.working;
    if (!this.#ends.again()) return;
    this.#whenStopped = () => {
      void this.#enqueue(async () => {
        await this.#stop();
        await this.#start();
        if (lost !== undefined && this.client !== undefined) this.#ends.tellLost(lost);
      });
    };
  }

  /** Offers the server of this extension where an older one runs; once in a session. */
  async #offerUpdate(): Promise<void> {
    const found = this.#client?.initializeResult?.serverInfo?.version;
    if (found === undefined || found === this.version || this.#offered) return;
    this.#offered = true;
    const update = "Update";
    const message = `hipscope's server is ${found}, this extension is made for ${this.version}.`;
    if ((await vscode.window.showInformationMessage(message, update)) === update) await this.update();
  }

  async #explain(message: string, error: unknown): Promise<void> {
    const repairs = {
      Install: ["hipscope.installServer"],
      "Open Settings": ["workbench.action.openSettings", "hipscope.interpreter"],
      "Restart Server": ["hipscope.restartServer"],
      "Show Log": ["hipscope.showLog"],
    } as const;
    const titles: (keyof typeof repairs)[] =
      error instanceof NotInstalled
        ? ["Install", "Open Settings"]
        : error instanceof NoServer
          ? ["Open Settings", "Install", "Show Log"]
          : ["Restart Server", "Show Log"];
    const chosen = await vscode.window.showErrorMessage(message, ...titles);
    if (chosen) await vscode.commands.executeCommand(...(repairs[chosen] as readonly [string, ...string[]]));
  }
}

function currentSettings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("hipscope", vscode.workspace.workspaceFolders?.[0]?.uri);
}
