// A rewrite is read before it is taken: the new text beside the old one, the evidence, Accept or Reject.
// Takes the server's proposals, shows them in the editor's own diff and Markdown preview.
import * as vscode from "vscode";
import { SERVER_APPLY, SERVER_DISCARD, SERVER_NEXT } from "./protocol";
import type { ProposalParams } from "./protocol";

export const SCHEME = "hipscope-proposal";
const EVIDENCE = "What proves the rewrite.md";

export class Proposals implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #kept = new Map<string, ProposalParams>();
  readonly #provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);
  #current: string | undefined;

  /** Texts of virtual documents: `/ID/evidence.md` and `/ID/N/NAME`, the N-th file with the edit. */
  provideTextDocumentContent(uri: vscode.Uri): string {
    const [, id = "", place = ""] = uri.path.split("/");
    const proposal = this.#kept.get(id);
    if (!proposal) return "This rewrite has been decided on.";
    return place === EVIDENCE ? proposal.evidence : (proposal.files[Number(place)]?.text ?? "");
  }

  /** Shows a proposal in place of another one of the document, and asks about it, without waiting for the answer. */
  async show(proposal: ProposalParams): Promise<void> {
    // The server keeps those that are passed over.
    const before = [...this.#kept.values()].filter(
      ({ id, uri }) => uri === proposal.uri && id !== proposal.id,
    );
    for (const { id } of before) this.#kept.delete(id);
    this.#kept.set(proposal.id, proposal);
    this.#current = proposal.id;
    await vscode.commands.executeCommand("setContext", "hipscope.proposal", true);
    for (const [index, file] of proposal.files.entries()) {
      const original = vscode.Uri.parse(file.uri);
      const name = original.path.split("/").at(-1) ?? "";
      const changed = vscode.Uri.from({ scheme: SCHEME, path: `/${proposal.id}/${String(index)}/${name}` });
      await vscode.commands.executeCommand("vscode.diff", original, changed, `${name}: ${proposal.title}`, {
        preview: false,
      });
    }
    for (const { id } of before) await closeTabs(id);
    void this.#ask(proposal);
  }

  /** Has the server propose another rewrite of the same kernel; where there is none it says so. */
  async next(): Promise<void> {
    const proposal = this.#shown();
    if (proposal) await vscode.commands.executeCommand(SERVER_NEXT, { id: proposal.id });
  }

  /** Has the server apply the proposal that is shown, and shows the changed text. */
  async accept(): Promise<void> {
    const proposal = this.#shown();
    if (!proposal) return;
    const answer = await vscode.commands.executeCommand<{ applied?: boolean }>(SERVER_APPLY, {
      id: proposal.id,
    });
    if (!answer.applied) return; // the server has said why
    await this.#end(proposal);
    await reveal(proposal);
  }

  /** Forgets the proposal that is shown, and goes back to the text, which stays as it is. */
  async reject(): Promise<void> {
    const proposal = this.#shown();
    if (!proposal) return;
    await vscode.commands.executeCommand(SERVER_DISCARD, { id: proposal.id });
    await this.#end(proposal);
    await reveal(proposal);
  }

  /** Opens the page with what was compared, what was never varied, and what it costs. */
  async showEvidence(): Promise<void> {
    const proposal = this.#shown();
    if (!proposal) return;
    const page = vscode.Uri.from({ scheme: SCHEME, path: `/${proposal.id}/${EVIDENCE}` });
    await vscode.commands.executeCommand("markdown.showPreviewToSide", page);
  }

  async copyPatch(): Promise<void> {
    const proposal = this.#shown();
    if (proposal) await vscode.env.clipboard.writeText(proposal.patch);
  }

  dispose(): void {
    this.#provider.dispose();
  }

  /** The proposal of the active diff or page, else the newest one. */
  #shown(): ProposalParams | undefined {
    const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
    const uri = input instanceof vscode.TabInputTextDiff ? input.modified : undefined;
    const id = uri?.scheme === SCHEME ? uri.path.split("/")[1] : this.#current;
    return id === undefined ? undefined : this.#kept.get(id);
  }

  async #ask(proposal: ProposalParams): Promise<void> {
    const [accept, evidence, next, reject] = ["Accept", "Show Evidence", "Next Candidate", "Reject"];
    const chosen = await vscode.window.showInformationMessage(
      `${proposal.headline}. ${proposal.title}. ${proposal.defects}`.trimEnd(),
      accept,
      evidence,
      next,
      reject,
    );
    if (chosen === undefined || !this.#kept.has(proposal.id)) return;
    this.#current = proposal.id;
    if (chosen === accept) await this.accept();
    else if (chosen === reject) await this.reject();
    else if (chosen === next) await this.next();
    else await this.showEvidence();
  }

  async #end(proposal: ProposalParams): Promise<void> {
    this.#kept.delete(proposal.id);
    if (this.#current === proposal.id) this.#current = [...this.#kept.keys()].at(-1);
    await vscode.commands.executeCommand("setContext", "hipscope.proposal", this.#kept.size > 0);
    await closeTabs(proposal.id);
  }
}

/** Closes the diffs and the text of a proposal; the page of its evidence, too, which the editor tells by its title alone. */
async function closeTabs(id: string): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  await vscode.window.tabGroups.close(tabs.filter((tab) => isOf(tab, id) || isEvidence(tab)));
}

function isEvidence({ input, label }: vscode.Tab): boolean {
  return input instanceof vscode.TabInputWebview && label.endsWith(EVIDENCE);
}

function isOf(tab: vscode.Tab, id: string): boolean {
  const input = tab.input;
  const uri =
    input instanceof vscode.TabInputTextDiff
      ? input.modified
      : input instanceof vscode.TabInputText
        ? input.uri
        : undefined;
  return uri?.scheme === SCHEME && uri.path.startsWith(`/${id}/`);
}

/** Shows the first file of a proposal that was decided on, at the line that it changes first. */
async function reveal(proposal: ProposalParams): Promise<void> {
  const file = proposal.files[0];
  if (!file) return;
  const line = Number(/^@@ -\d+(?:,\d+)? \+(\d+)/m.exec(proposal.patch)?.[1] ?? 1) - 1;
  const place = new vscode.Range(line, 0, line, 0);
  const uri = vscode.Uri.parse(file.uri);
  const group = vscode.window.tabGroups.all.find(({ tabs }) => tabs.some((tab) => isText(tab, uri)));
  await vscode.window.showTextDocument(uri, {
    selection: place,
    preview: false,
    viewColumn: group?.viewColumn ?? vscode.ViewColumn.Active,
  });
}

function isText({ input }: vscode.Tab, uri: vscode.Uri): boolean {
  return input instanceof vscode.TabInputText && input.uri.toString() === uri.toString();
}
