// The status bar item. Takes what the client and the server are doing and what the program costs; gives a short text, a
// tooltip, a click.
import * as vscode from "vscode";
import type { HotLine, ProjectRow, StatusParams } from "./protocol";

/** Client-side states (no server to speak for itself) beside the server's own. */
export type Condition =
  | { readonly state: "starting" | "stopped" | "missing" | "untrusted"; readonly message?: string }
  | StatusParams;

/** States in which a job runs that can be cancelled. */
const BUSY: ReadonlySet<string> = new Set(["profiling", "checking", "optimizing"]);

export class StatusItem implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("hipscope.status", vscode.StatusBarAlignment.Left, 10);
  #condition: Condition = { state: "stopped" };
  #project: ProjectRow | null = null;
  #asked = 0;

  constructor(
    private readonly hottest: (uri: vscode.Uri, count: number) => HotLine[],
    private readonly projectOf: (uri: string | undefined) => Promise<ProjectRow | null>,
  ) {
    this.#item.name = "hipscope";
  }

  /** Shows a condition. Before the first one there is no item: in a folder without GPU code nothing of hipscope is seen. */
  set(condition: Condition): void {
    this.#item.show();
    this.#condition = condition;
    const busy = BUSY.has(condition.state);
    void vscode.commands.executeCommand("setContext", "hipscope.busy", busy);
    this.refresh();
  }

  /** What the server is doing, such as "profiling"; undefined when it waits. */
  get working(): string | undefined {
    const { state } = this.#condition;
    return BUSY.has(state) ? state : undefined;
  }

  /** Rewrites the item, then again with what the program costs; called when the active editor or its findings change. */
  refresh(): void {
    this.#draw();
    const number = (this.#asked += 1);
    void this.projectOf(vscode.window.activeTextEditor?.document.uri.toString()).then((project) => {
      if (number !== this.#asked) return;
      this.#project = project;
      this.#draw();
    });
  }

  #draw(): void {
    const { state } = this.#condition;
    const { text, click } = faces[state];
    const known = state === "idle" ? this.#project : null;
    this.#item.text = known ? `$(flame) ${shortly(known)}` : text;
    this.#item.command = click;
    this.#item.backgroundColor =
      state === "error"
        ? new vscode.ThemeColor("statusBarItem.errorBackground")
        : state === "missing" || state === "waiting"
          ? new vscode.ThemeColor("statusBarItem.warningBackground")
          : undefined;
    this.#item.tooltip = this.#tooltip();
    this.#item.accessibilityInformation = {
      label: `hipscope, ${this.#says()}${known ? `, ${inWords(known)}` : ""}`,
    };
  }

  dispose(): void {
    this.#item.dispose();
  }

  #says(): string {
    return this.#condition.message || faces[this.#condition.state].says;
  }

  #tooltip(): vscode.MarkdownString {
    const tooltip = new vscode.MarkdownString(undefined, true);
    tooltip.isTrusted = {
      enabledCommands: [
        "hipscope.profile",
        "hipscope.optimizeKernel",
        "hipscope.cancel",
        "hipscope.restartServer",
        "hipscope.showLog",
      ],
    };
    tooltip.appendText(`hipscope: ${this.#says()}\n`);
    if (this.#project) tooltip.appendText(`${inWords(this.#project)}\n`);
    const uri = vscode.window.activeTextEditor?.document.uri;
    for (const hot of uri ? this.hottest(uri, 3) : []) {
      const stale = hot.stale ? " (before the edit)" : "";
      tooltip.appendText(
        `line ${hot.line + 1}: ${(100 * hot.share).toFixed(0)} % of the kernel's time, ${hot.reason}${stale}\n`,
      );
    }
    tooltip.appendMarkdown("\n\n---\n\n");
    const busy = BUSY.has(this.#condition.state);
    tooltip.appendMarkdown(
      busy
        ? "[Cancel](command:hipscope.cancel) · "
        : "[Profile](command:hipscope.profile) · [Optimize kernel](command:hipscope.optimizeKernel) · ",
    );
    tooltip.appendMarkdown(
      "[Restart server](command:hipscope.restartServer) · [Log](command:hipscope.showLog)",
    );
    return tooltip;
  }
}

const faces: Readonly<Record<Condition["state"], { text: string; says: string; click: string }>> = {
  starting: { text: "$(loading~spin) hipscope", says: "starting the server", click: "hipscope.showLog" },
  stopped: {
    text: "$(circle-slash) hipscope",
    says: "the server is not running",
    click: "hipscope.restartServer",
  },
  missing: {
    text: "$(warning) hipscope",
    says: "the server is not installed; click to install it",
    click: "hipscope.installServer",
  },
  untrusted: {
    text: "$(shield) hipscope",
    says: "off until this folder is trusted, because profiling runs its code",
    click: "workbench.trust.manage",
  },
  idle: { text: "$(flame) hipscope", says: "ready; click to profile", click: "hipscope.profile" },
  checking: { text: "$(sync~spin) Checking", says: "checking", click: "hipscope.showLog" },
  profiling: { text: "$(sync~spin) Profiling", says: "profiling", click: "hipscope.showLog" },
  optimizing: { text: "$(sync~spin) Optimizing", says: "optimizing", click: "hipscope.showLog" },
  // The question's message hides by itself after some seconds; the list of notifications still has it.
  waiting: {
    text: "$(question) hipscope asks",
    says: "waits for an answer; click to see the question",
    click: "notifications.showList",
  },
  error: {
    text: "$(error) hipscope",
    says: "the last job failed; click to profile again",
    click: "hipscope.profile",
  },
};

/** `12.3 us · transpose · LDS bound · 1 finding`; of an older text only that it is stale. */
function shortly({ summary, stale, findings }: ProjectRow): string {
  if (stale) return `${summary} · stale`;
  return findings > 0 ? `${summary} · ${findings} ${findings === 1 ? "finding" : "findings"}` : summary;
}

/** The same as a sentence, of the whole program. */
function inWords({ name, kernels, provenance, top, findings, stale, summary }: ProjectRow): string {
  const of = kernels === 1 ? "1 kernel" : `${kernels} kernels`;
  const most = top ? `, most in ${top.name} (${top.summary})` : "";
  const age = stale ? ", before the edit" : "";
  return `${name}: ${summary.split(" · ")[0] ?? ""} in ${of} (${provenance}${age})${most}; findings: ${findings}`;
}
