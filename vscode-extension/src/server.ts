// The server's life: start, restart, stop. Takes a workspace, keeps one language client running in it.
import * as vscode from "vscode";
import { DidChangeConfigurationNotification, LanguageClient, State } from "vscode-languageclient/node";
import type { LanguageClientOptions } from "vscode-languageclient/node";
import { askForArguments } from "./arguments";
import type { Heat } from "./heat";
import { Jobs } from "./jobs";
import type { Keys } from "./keys";
import { findServer, NoServer } from "./launch";
import type { Launch } from "./launch";
import type { Proposals } from "./proposals";
import {
  EXTENSION_MARK,
  heatNotification,
  proposalNotification,
  saveNotification,
  setArgumentsNotification,
  statusNotification,
} from "./protocol";
import type { StatusItem } from "./status";

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
  /** Starts and stops run one after the other, in the order they were asked for. */
  #queue: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: vscode.LogOutputChannel,
    private readonly status: StatusItem,
    private readonly heat: Heat,
    private readonly keys: Keys,
    private readonly proposals: Proposals,
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
      const launch = await findServer(vscode.workspace.workspaceFolders?.[0]);
      this.log.info(`server: ${[launch.command, ...launch.args].join(" ")} (from ${launch.origin})`);
      this.#client = this.#createClient(launch, { ...process.env, ...(await this.keys.environment()) });
      await this.#client.start();
    } catch (error) {
      this.#client = undefined;
      const message = error instanceof Error ? error.message : String(error);
      this.log.error(message);
      this.status.set(
        error instanceof NoServer ? { state: "missing", message } : { state: "stopped", message },
      );
      void this.#explain(
        error instanceof NoServer ? message : `The hipscope server did not start: ${message}`,
      );
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
    client.onNotification(setArgumentsNotification, ({ uri }) => {
      void askForArguments(client, uri);
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
    }
  }

  async #explain(message: string): Promise<void> {
    const actions = {
      "Open Settings": ["workbench.action.openSettings", "hipscope.interpreter"],
      "How to Install": ["workbench.action.openWalkthrough", "hipscope.hipscope#start"],
      "Show Log": ["hipscope.showLog"],
    } as const;
    const chosen = await vscode.window.showErrorMessage(
      message,
      ...(Object.keys(actions) as (keyof typeof actions)[]),
    );
    if (chosen) await vscode.commands.executeCommand(...(actions[chosen] as readonly [string, ...string[]]));
  }
}

function currentSettings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration("hipscope", vscode.workspace.workspaceFolders?.[0]?.uri);
}
