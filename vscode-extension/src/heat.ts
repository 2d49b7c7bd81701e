// Heat: tints lines by their share of the kernel's time. Takes the server's `hipscope/heat`, gives decorations.
import * as vscode from "vscode";
import type { HeatParams, HotLine } from "./protocol";

/** Smallest share of each band of the ramp; a line below the first is left plain. */
const BANDS = [0.01, 0.05, 0.15, 0.3, 0.5] as const;

export class Heat implements vscode.Disposable {
  readonly #documents = new Map<string, HeatParams>();
  readonly #bands = BANDS.map((_, index) => decoration(`heat${index + 1}`));
  readonly #stale = decoration("heatStale");
  readonly #subscriptions = [
    vscode.window.onDidChangeVisibleTextEditors(() => {
      this.#paintAll();
    }),
    vscode.workspace.onDidCloseTextDocument((document) => this.#documents.delete(document.uri.toString())),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("hipscope.heat")) this.#paintAll();
    }),
  ];

  /** Shows what the server says about one document, in place of what it said before. */
  show(heat: HeatParams): void {
    this.#documents.set(vscode.Uri.parse(heat.uri).toString(), heat);
    this.#paintAll();
  }

  /** The server has gone: nothing on screen is backed by a profile any more. */
  clear(): void {
    this.#documents.clear();
    this.#paintAll();
  }

  /** Hot lines of one document, hottest first. */
  hottest(uri: vscode.Uri, count: number): HotLine[] {
    const lines = this.#documents.get(uri.toString())?.lines ?? [];
    return [...lines].sort((a, b) => b.share - a.share).slice(0, count);
  }

  dispose(): void {
    vscode.Disposable.from(...this.#subscriptions, ...this.#bands, this.#stale).dispose();
  }

  #paintAll(): void {
    for (const editor of vscode.window.visibleTextEditors) this.#paint(editor);
  }

  #paint(editor: vscode.TextEditor): void {
    const { document } = editor;
    const heat = this.#documents.get(document.uri.toString());
    const on = vscode.workspace.getConfiguration("hipscope", document.uri).get<boolean>("heat", true);
    // After an edit the editor itself moves what is painted, until the server sends lines of the new text.
    if (on && heat && !isOfThisText(heat, document)) return;
    const lines = (on && heat ? heat.lines : []).filter(
      (hot) => hot.line < document.lineCount && bandOf(hot.share) >= 0,
    );
    const rangesOf = (wanted: (hot: HotLine) => boolean): vscode.Range[] =>
      lines.filter(wanted).map((hot) => document.lineAt(hot.line).range);
    this.#bands.forEach((band, index) => {
      editor.setDecorations(
        band,
        rangesOf((hot) => !hot.stale && bandOf(hot.share) === index),
      );
    });
    editor.setDecorations(
      this.#stale,
      rangesOf((hot) => hot.stale === true),
    );
  }
}

function isOfThisText(heat: HeatParams, document: vscode.TextDocument): boolean {
  return heat.version === null || heat.version === document.version;
}

/** Index of the band that a share of time falls in; -1 when it is too small to show. */
function bandOf(share: number): number {
  return BANDS.filter((least) => share >= least).length - 1;
}

/** Tints a whole line in the theme colours `hipscope.<name>Background` and `hipscope.<name>Ruler`. */
function decoration(name: string): vscode.TextEditorDecorationType {
  return vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor(`hipscope.${name}Background`),
    overviewRulerColor: new vscode.ThemeColor(`hipscope.${name}Ruler`),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
}
