// Entry of the extension: makes the parts and ties them to the editor's events and commands. No analysis here.
import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";
import { isGpuDocument, isGpuWorkspace } from "./gpu";
import { Kernels } from "./kernels";
import { Heat } from "./heat";
import { History } from "./history";
import { Installer } from "./install";
import { Isa } from "./isa";
import { Keys } from "./keys";
import { pythonApi } from "./launch";
import { Pages } from "./pages";
import { Proposals } from "./proposals";
import {
  projectRequest,
  SERVER_BENCH,
  SERVER_CANCEL,
  SERVER_CHECK,
  SERVER_CHOOSE_BUILD,
  SERVER_EXPLAIN,
  SERVER_OPEN_PROFILE,
  SERVER_OPTIMIZE,
  SERVER_PROFILE,
  SERVER_RESTORE,
  SERVER_SET_ARGUMENTS,
} from "./protocol";
import { Server } from "./server";
import { StatusItem } from "./status";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = vscode.window.createOutputChannel("hipscope", { log: true });
  const heat = new Heat();
  const status = new StatusItem(
    (uri, count) => heat.hottest(uri, count),
    async (uri) => {
      const client = server?.client;
      // A server of an older version has no answer.
      return client
        ? client.sendRequest(projectRequest, uri === undefined ? {} : { uri }).catch(() => null)
        : null;
    },
  );
  const keys = new Keys(context.secrets);
  const proposals = new Proposals();
  const pages = new Pages();
  const kernels = new Kernels(() => server);
  const history = new History(() => server);
  const isa = new Isa(() => server);
  const installer = new Installer(context, log);
  const { version } = context.extension.packageJSON as { readonly version: string };
  const running = (server = new Server(log, status, heat, keys, proposals, pages, installer, version, () => {
    kernels.refresh();
    history.refresh();
  }));
  context.subscriptions.push(
    log,
    heat,
    status,
    proposals,
    pages,
    kernels,
    history,
    isa,
    vscode.commands.registerCommand("hipscope.openPage", (address: string) => pages.open(address)),
    ...registerCommands(running, log, keys, proposals, isa, heat, history),
    ...followEditor(running, status),
  );
  await markGpuFile(vscode.window.activeTextEditor);
  await startWhenNeeded(running, context);
}

/** Starts the server at once in a folder of GPU programs, else when the first document of GPU code is opened. */
async function startWhenNeeded(running: Server, context: vscode.ExtensionContext): Promise<void> {
  const open = await Promise.all(vscode.workspace.textDocuments.map(isGpuDocument));
  if (open.includes(true) || (await isGpuWorkspace())) {
    await running.restart();
    return;
  }
  const opened = vscode.workspace.onDidOpenTextDocument(async (document) => {
    if (!(await isGpuDocument(document))) return;
    opened.dispose();
    await running.restart();
  });
  context.subscriptions.push(opened);
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

function registerCommands(
  running: Server,
  log: vscode.LogOutputChannel,
  keys: Keys,
  proposals: Proposals,
  isa: Isa,
  heat: Heat,
  history: History,
): vscode.Disposable[] {
  const restartIf = async (changed: Promise<boolean>): Promise<void> => {
    if (await changed) await running.restart();
  };
  const commands: Record<string, () => unknown> = {
    "hipscope.profile": () => runOnServer(running, SERVER_PROFILE),
    "hipscope.optimizeKernel": () => runOnServer(running, SERVER_OPTIMIZE),
    "hipscope.check": () => runOnServer(running, SERVER_CHECK),
    "hipscope.openProfile": () => openProfile(running),
    "hipscope.writeBench": () => runOnServer(running, SERVER_BENCH),
    "hipscope.restore": () => runOnServer(running, SERVER_RESTORE),
    "hipscope.showIsa": () => isa.show(),
    "hipscope.goToInstruction": () => isa.goToInstruction(),
    "hipscope.goToSource": () => isa.goToSource(),
    "hipscope.hottestLine": () => {
      goToHotLine(heat, "hottest");
    },
    "hipscope.nextHotLine": () => {
      goToHotLine(heat, "next");
    },
    "hipscope.compareProfiles": () => history.compare(),
    "hipscope.explain": () => runOnServer(running, SERVER_EXPLAIN),
    "hipscope.setArguments": () => runOnServer(running, SERVER_SET_ARGUMENTS),
    "hipscope.chooseBuild": () => runOnServer(running, SERVER_CHOOSE_BUILD),
    "hipscope.acceptProposal": () => proposals.accept(),
    "hipscope.rejectProposal": () => proposals.reject(),
    "hipscope.showEvidence": () => proposals.showEvidence(),
    "hipscope.nextCandidate": () => proposals.next(),
    "hipscope.copyPatch": () => proposals.copyPatch(),
    "hipscope.cancel": () => cancel(running),
    "hipscope.toggleHeat": toggleHeat,
    "hipscope.installServer": () => running.install(),
    "hipscope.server.update": () => running.update(),
    "hipscope.restartServer": () => running.restart(),
    "hipscope.storeModelKey": () => restartIf(keys.add()),
    "hipscope.forgetModelKey": () => restartIf(keys.remove()),
    "hipscope.showLog": () => {
      log.show(true);
    },
  };
  return Object.entries(commands).map(([id, run]) => vscode.commands.registerCommand(id, run));
}

function followEditor(running: Server, status: StatusItem): vscode.Disposable[] {
  const subscriptions = [
    vscode.window.onDidChangeActiveTextEditor((editor) => {
      void markGpuFile(editor);
      status.refresh();
    }),
    vscode.languages.onDidChangeDiagnostics(() => {
      status.refresh();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => running.restart()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (
        change.affectsConfiguration("hipscope.serverPath") ||
        change.affectsConfiguration("hipscope.interpreter")
      )
        void running.restart();
      else if (change.affectsConfiguration("hipscope")) void running.settingsChanged();
    }),
  ];
  void pythonApi().then((python) => {
    if (python)
      subscriptions.push(
        python.environments.onDidChangeActiveEnvironmentPath(() => {
          void running.restart();
        }),
      );
  });
  return [
    new vscode.Disposable(() => {
      vscode.Disposable.from(...subscriptions).dispose();
    }),
  ];
}

/** Sends a server's command about the active file and cursor. The server reports progress and result itself. */
async function runOnServer(running: Server, command: string): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    void vscode.window.showWarningMessage("Open a HIP file first.");
    return;
  }
  await running.settled;
  if (!running.client) {
    const restart = "Restart Server";
    if (await vscode.window.showWarningMessage("The hipscope server is not running.", restart))
      await running.restart();
    return;
  }
  const { document, selection } = editor;
  const position = { line: selection.active.line, character: selection.active.character };
  await vscode.commands.executeCommand(command, { uri: document.uri.toString(), position });
}

/** Asks for a capture or a saved report and has the server show it; a capture may be a folder or a file. */
async function openProfile(running: Server): Promise<void> {
  const folder = { label: "A folder", description: "rocprofv3, rocprofiler-compute, thread traces" };
  const file = { label: "A file", description: "CSV, JSON, rocpd, .ncu-rep, a saved report" };
  const kind = await vscode.window.showQuickPick([folder, file], { title: "Open profile" });
  if (!kind) return;
  const picked = await vscode.window.showOpenDialog({
    canSelectFiles: kind === file,
    canSelectFolders: kind === folder,
    openLabel: "Open profile",
    title: "Open profile",
  });
  const path = picked?.[0]?.fsPath;
  if (path === undefined) return;
  await running.settled;
  if (!running.client) void vscode.window.showWarningMessage("The hipscope server is not running.");
  else await vscode.commands.executeCommand(SERVER_OPEN_PROFILE, { path });
}

/** Stops every job: those with a notification by their progress, one that a save started by the server's command. */
async function cancel(running: Server): Promise<void> {
  running.jobs.cancelAll();
  const commands = running.client?.initializeResult?.capabilities.executeCommandProvider?.commands ?? [];
  if (commands.includes(SERVER_CANCEL))
    await running.client?.sendRequest(ExecuteCommandRequest.type, {
      command: SERVER_CANCEL,
      arguments: [{}],
    });
}

/** Puts the cursor on the hottest line of the active file, or on the next hot line below it, beginning again at its end. */
function goToHotLine(heat: Heat, which: "hottest" | "next"): void {
  const editor = vscode.window.activeTextEditor;
  const lines = editor ? heat.hottest(editor.document.uri, Number.MAX_SAFE_INTEGER) : [];
  const [hottest] = lines;
  if (!editor || !hottest) {
    void vscode.window.showInformationMessage("No line of this file is hot in the profile.");
    return;
  }
  const below = lines.map(({ line }) => line).sort((a, b) => a - b);
  const here = editor.selection.active.line;
  const line = which === "hottest" ? hottest.line : (below.find((one) => one > here) ?? below[0] ?? 0);
  const place = new vscode.Position(line, editor.document.lineAt(line).firstNonWhitespaceCharacterIndex);
  editor.selection = new vscode.Selection(place, place);
  editor.revealRange(new vscode.Range(place, place), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

async function toggleHeat(): Promise<void> {
  const settings = vscode.workspace.getConfiguration("hipscope");
  await settings.update("heat", !settings.get("heat", true), vscode.ConfigurationTarget.Global);
}

/** Sets the context key that decides where the commands show. */
async function markGpuFile(editor: vscode.TextEditor | undefined): Promise<void> {
  const document = editor?.document;
  const isGpuFile = document !== undefined && (await isGpuDocument(document));
  if (vscode.window.activeTextEditor?.document === document)
    await vscode.commands.executeCommand("setContext", "hipscope.gpuFile", isGpuFile);
}
