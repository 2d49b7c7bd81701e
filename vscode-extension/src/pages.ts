// Pages in the editor's own Markdown preview: what the server writes about a line, and the documentation that travels with it.
import * as vscode from "vscode";
import type { PageParams } from "./protocol";

const SCHEME = "hipscope-page";

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #provider = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#texts.get(uri.path) ?? "This page is of an earlier session.";
  }

  /** Shows a page beside the text: one that is written, or that of an address. */
  async show({ title, uri, markdown }: PageParams): Promise<void> {
    if (markdown === null) {
      if (uri !== null) await this.open(uri);
      return;
    }
    const page = vscode.Uri.from({ scheme: SCHEME, path: `/${title.replaceAll("/", "_")}.md` });
    this.#texts.set(page.path, markdown);
    this.#changed.fire(page);
    await vscode.commands.executeCommand("markdown.showPreviewToSide", page);
  }

  /** Opens the file of a page rendered. */
  async open(address: string): Promise<void> {
    await vscode.commands.executeCommand("markdown.showPreviewToSide", vscode.Uri.parse(address));
  }

  dispose(): void {
    vscode.Disposable.from(this.#provider, this.#changed).dispose();
  }
}
