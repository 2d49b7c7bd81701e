// The tree "GPU Kernels": each kernel by what it costs, its findings below it. Takes the server's rows, opens their places.
import * as vscode from "vscode";
import { kernelsRequest } from "./protocol";
import type { KernelFinding, KernelRow } from "./protocol";
import type { Server } from "./server";

type Node = { readonly kernel: KernelRow; readonly finding?: KernelFinding };

/** Behind the numbers: a narrow side bar cuts what stands last. */
const BAR = 10;

export class Kernels implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view = vscode.window.registerTreeDataProvider("hipscope.kernels", this);

  constructor(private readonly server: () => Server | undefined) {}

  /** Asks the server again: a profile has come, or its kernels moved. */
  refresh(): void {
    this.#changed.fire(undefined);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node) return node.kernel.findings.map((finding) => ({ kernel: node.kernel, finding }));
    const client = this.server()?.client;
    if (!client) return [];
    const { kernels } = await client.sendRequest(kernelsRequest, {});
    return kernels.map((kernel) => ({ kernel }));
  }

  getTreeItem({ kernel, finding }: Node): vscode.TreeItem {
    const item = finding ? findingItem(finding) : kernelItem(kernel);
    const line = finding?.line ?? kernel.range.start.line;
    const selection = new vscode.Range(line, 0, line, 0);
    item.command = {
      command: "vscode.open",
      title: "Open",
      arguments: [vscode.Uri.parse(kernel.uri), { selection } satisfies vscode.TextDocumentShowOptions],
    };
    return item;
  }

  dispose(): void {
    this.#view.dispose();
    this.#changed.dispose();
  }
}

function kernelItem(kernel: KernelRow): vscode.TreeItem {
  const state = kernel.findings.length > 0 ? vscode.TreeItemCollapsibleState.Expanded : undefined;
  const item = new vscode.TreeItem(kernel.name, state ?? vscode.TreeItemCollapsibleState.None);
  const filled = Math.round((kernel.share ?? 0) * BAR);
  const bar = `${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
  item.description = `${kernel.summary}${kernel.stale ? " · stale" : ""} ${bar}`;
  item.tooltip = `${kernel.name}\n${kernel.provenance}: ${kernel.summary}`;
  item.iconPath = new vscode.ThemeIcon(kernel.findings.length > 0 ? "flame" : "symbol-method");
  item.accessibilityInformation = { label: `kernel ${kernel.name}, ${kernel.summary}, ${kernel.provenance}` };
  return item;
}

function findingItem(finding: KernelFinding): vscode.TreeItem {
  const item = new vscode.TreeItem(finding.formula);
  item.description = `line ${String(finding.line + 1)} · ${String(Math.round(finding.share * 100))} % of the kernel's time`;
  item.iconPath = new vscode.ThemeIcon("warning");
  return item;
}
