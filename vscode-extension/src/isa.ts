// Machine code beside the source: a read-only document `hipscope-isa:`, whose cursor and the source's mark each other.
// Takes the server's `hipscope/isa`; draws heat by share on both sides with the colours of the source.
import * as vscode from "vscode";
import { isaRequest } from "./protocol";
import type { IsaListing, ListedInstruction } from "./protocol";
import type { Server } from "./server";

const SCHEME = "hipscope-isa";
/** Smallest share of the kernel's cycles of each band, with the theme colours of the source's heat. */
const BANDS = [0.01, 0.05, 0.15, 0.3, 0.5] as const;

interface Shown {
  readonly listing: IsaListing;
  readonly text: string;
}

export class Isa
  implements
    vscode.TextDocumentContentProvider,
    vscode.HoverProvider,
    vscode.DefinitionProvider,
    vscode.Disposable
{
  readonly #shown = new Map<string, Shown>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.#changed.event;
  readonly #other = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.wordHighlightStrongBackground"),
    borderColor: new vscode.ThemeColor("editorBracketMatch.border"),
    borderStyle: "solid",
    borderWidth: "1px",
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.wordHighlightStrongForeground"),
  });
  readonly #bands = BANDS.map((_, index) =>
    vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor(`hipscope.heat${String(index + 1)}Background`),
      overviewRulerColor: new vscode.ThemeColor(`hipscope.heat${String(index + 1)}Ruler`),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    }),
  );
  readonly #subscriptions = [
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
    vscode.languages.registerHoverProvider({ scheme: SCHEME }, this),
    vscode.languages.registerDefinitionProvider({ scheme: SCHEME }, this),
    vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => {
      this.#follow(textEditor);
    }),
    vscode.window.onDidChangeVisibleTextEditors((editors) => {
      if (!editors.some(({ document }) => document.uri.scheme === SCHEME))
        for (const editor of editors) editor.setDecorations(this.#other, []);
      this.#paint();
    }),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => this.#shown.delete(uri.toString())),
  ];

  constructor(private readonly server: () => Server | undefined) {}

  /** Opens the machine code of the kernel at the cursor beside its source. */
  async show(): Promise<vscode.TextEditor | undefined> {
    const editor = vscode.window.activeTextEditor;
    const client = this.server()?.client;
    if (!editor || !client) {
      void vscode.window.showWarningMessage("Open a profiled HIP file first.");
      return undefined;
    }
    const { line, character } = editor.selection.active;
    try {
      const uri = editor.document.uri.toString();
      const listing = await client.sendRequest(isaRequest, { uri, position: { line, character } });
      const opened = await this.#open(listing);
      this.#follow(editor);
      return opened;
    } catch (error) {
      void vscode.window.showWarningMessage(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  /** Puts the cursor on the costliest instruction of the source's line, or of the kernel; Go to Definition leads back. */
  async goToInstruction(): Promise<void> {
    const source = vscode.window.activeTextEditor;
    const opened = await this.show();
    const listing = opened && this.#shown.get(opened.document.uri.toString())?.listing;
    if (!source || !opened || !listing) return;
    const { uri } = source.document;
    const [own] = instructionLines(listing.instructions, uri, source.selection.active.line);
    const costliest = [...listing.instructions].sort((a, b) => b.cycles - a.cycles)[0];
    const line = own ?? (costliest?.index ?? 0) + 1;
    const selection = new vscode.Range(line, 0, line, 0);
    await vscode.window.showTextDocument(opened.document, {
      viewColumn: opened.viewColumn ?? vscode.ViewColumn.Beside,
      selection,
    });
  }

  /** Goes from the instruction at the cursor to its source line, in the editor that shows it. */
  async goToSource(): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const place = editor && this.provideDefinition(editor.document, editor.selection.active);
    if (!place) return;
    const shown = vscode.window.visibleTextEditors.find(
      ({ document }) => document.uri.toString() === place.uri.toString(),
    );
    await vscode.window.showTextDocument(place.uri, {
      viewColumn: shown?.viewColumn ?? vscode.ViewColumn.One,
      selection: place.range,
    });
  }

  /** The source line of an instruction. */
  provideDefinition(document: vscode.TextDocument, position: vscode.Position): vscode.Location | undefined {
    const one = this.#shown.get(document.uri.toString())?.listing.instructions[position.line - 1];
    if (!one || one.uri === null || one.line === null) return undefined;
    return new vscode.Location(vscode.Uri.parse(one.uri), new vscode.Position(one.line, one.column ?? 0));
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.#shown.get(uri.toString())?.text ?? "This machine code is of an earlier session.";
  }

  provideHover(document: vscode.TextDocument, position: vscode.Position): vscode.Hover | undefined {
    const shown = this.#shown.get(document.uri.toString());
    const one = shown?.listing.instructions[position.line - 1];
    if (!shown || !one) return undefined;
    const unit = shown.listing.sampled ? "samples" : "cycles";
    const lines = [
      `${one.cycles.toFixed(0)} ${unit} (${shown.listing.provenance}), executed by ${String(one.hits)} waves`,
    ];
    if (one.vgprs !== null) lines.push(`${String(one.vgprs)} vector registers are in use behind it`);
    const reasons = Object.entries(one.stalls).filter(([, cycles]) => cycles > 0);
    for (const [reason, cycles] of reasons.sort(([, a], [, b]) => b - a))
      lines.push(`${reason.replaceAll("_", " ")}: ${cycles.toFixed(0)} ${unit}`);
    for (const { index, cycles } of one.producers)
      lines.push(
        `waits ${cycles.toFixed(0)} ${unit} for line ${String(index + 2)}: ${producerText(shown.listing, index)}`,
      );
    const text = new vscode.MarkdownString();
    for (const line of lines) text.appendText(`${line}\n`);
    return new vscode.Hover(text);
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions, this.#changed, this.#other, ...this.#bands).dispose();
  }

  async #open(listing: IsaListing): Promise<vscode.TextEditor> {
    const path = `/${listing.kernel.replaceAll(/[^\w<>, ]+/g, "_")}.s`;
    const uri = vscode.Uri.from({ scheme: SCHEME, path, query: listing.mangled });
    this.#shown.set(uri.toString(), { listing, text: asText(listing) });
    this.#changed.fire(uri);
    const document = await vscode.workspace.openTextDocument(uri);
    const opened = await vscode.window.showTextDocument(document, {
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
      preview: true,
    });
    this.#paint();
    return opened;
  }

  /** Marks on the other side what the cursor's line belongs to, and brings its hottest line into view. */
  #follow(from: vscode.TextEditor): void {
    const line = from.selection.active.line;
    const { uri } = from.document;
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor === from) continue;
      const isa = this.#shown.get((uri.scheme === SCHEME ? uri : editor.document.uri).toString());
      if (!isa) continue;
      const { instructions } = isa.listing;
      const lines =
        uri.scheme === SCHEME
          ? sourceLines(instructions[line - 1], editor)
          : instructionLines(instructions, uri, line);
      editor.setDecorations(
        this.#other,
        lines.map((at) => new vscode.Range(at, 0, at, 0)),
      );
      const [first] = lines;
      if (first !== undefined)
        editor.revealRange(
          new vscode.Range(first, 0, first, 0),
          vscode.TextEditorRevealType.InCenterIfOutsideViewport,
        );
    }
  }

  #paint(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      const shown = this.#shown.get(editor.document.uri.toString());
      if (!shown) continue;
      this.#bands.forEach((band, index) => {
        const hot = shown.listing.instructions.filter(({ share }) => bandOf(share) === index);
        editor.setDecorations(
          band,
          hot.map((one) => new vscode.Range(one.index + 1, 0, one.index + 1, 0)),
        );
      });
    }
  }
}

function bandOf(share: number): number {
  return BANDS.filter((least) => share >= least).length - 1;
}

/** Line 0 names the kernel, line N is instruction N - 1. */
function asText(listing: IsaListing): string {
  const unit = listing.sampled ? "samples" : "cycles";
  const stale = listing.stale ? ", of an older text" : "";
  const head = `; ${listing.kernel}: share of ${listing.provenance} ${unit}${stale}`;
  const rows = listing.instructions.map(
    ({ share, text }) => `${(share >= 0.005 ? `${(100 * share).toFixed(0)} %` : "").padStart(5)}  ${text}`,
  );
  return [head, ...rows].join("\n");
}

function producerText(listing: IsaListing, index: number): string {
  return listing.instructions[index]?.text ?? "";
}

function sourceLines(one: ListedInstruction | undefined, editor: vscode.TextEditor): number[] {
  if (!one || one.uri === null || one.line === null) return [];
  const same = vscode.Uri.parse(one.uri).toString() === editor.document.uri.toString();
  return same && one.line < editor.document.lineCount ? [one.line] : [];
}

/** The instructions of a source line, the costliest first. */
function instructionLines(
  instructions: readonly ListedInstruction[],
  uri: vscode.Uri,
  line: number,
): number[] {
  return instructions
    .filter(
      (one) =>
        one.line === line && one.uri !== null && vscode.Uri.parse(one.uri).toString() === uri.toString(),
    )
    .sort((a, b) => b.cycles - a.cycles)
    .map((one) => one.index + 1);
}
