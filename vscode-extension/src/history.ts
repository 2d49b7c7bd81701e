// The tree "GPU History": profiles of the project by commit, newest first, their kernels below them; any two are compared.
// Takes the server's `hipscope/history`; the server writes the comparison as a page.
import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";
import { historyRequest, SERVER_COMPARE } from "./protocol";
import type { KeptKernel, KeptProfile } from "./protocol";
import type { Server } from "./server";

type Node = { readonly profile: KeptProfile; readonly kernel?: KeptKernel };

export class History implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #view = vscode.window.createTreeView("hipscope.history", {
    treeDataProvider: this,
    canSelectMany: true,
  });
  /** The document whose project is shown: the last GPU source that was active. */
  #uri: string | undefined;

  constructor(private readonly server: () => Server | undefined) {}

  /** Asks the server again, for the project of the active document. */
  refresh(): void {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.uri.scheme === "file") this.#uri = document.uri.toString();
    this.#changed.fire(undefined);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node) return node.kernel ? [] : node.profile.kernels.map((kernel) => ({ ...node, kernel }));
    return (await this.#profiles()).map((profile) => ({ profile }));
  }

  getTreeItem({ profile, kernel }: Node): vscode.TreeItem {
    if (kernel) {
      const item = new vscode.TreeItem(kernel.name);
      item.description = `${duration(kernel.timeNs)} · ${kernel.bound} bound`;
      item.iconPath = new vscode.ThemeIcon("symbol-method");
      return item;
    }
    const item = new vscode.TreeItem(nameOf(profile), vscode.TreeItemCollapsibleState.Collapsed);
    const total = totalOf(profile);
    const time = new Date(profile.time).toLocaleString();
    item.description = `${total === null ? "" : `${duration(total)} · `}${profile.provenance}, ${time}`;
    item.tooltip = `${nameOf(profile)}: ${duration(total)} (${profile.provenance}), ${time}`;
    item.iconPath = new vscode.ThemeIcon(profile.dirty ? "edit" : "git-commit");
    item.contextValue = "profile";
    return item;
  }

  /** Compares the two profiles that are selected in the tree, else two that are picked. */
  async compare(): Promise<void> {
    const client = this.server()?.client;
    if (!client) return;
    const selected = this.#view.selection.filter(({ kernel }) => !kernel).map(({ profile }) => profile);
    const [a, b] = selected.length === 2 ? inOrder(selected) : await this.#pick();
    if (!a || !b) return;
    await client.sendRequest(ExecuteCommandRequest.type, {
      command: SERVER_COMPARE,
      arguments: [{ ...(this.#uri !== undefined && { uri: this.#uri }), a: a.id, b: b.id }],
    });
  }

  dispose(): void {
    vscode.Disposable.from(this.#view, this.#changed).dispose();
  }

  async #profiles(): Promise<readonly KeptProfile[]> {
    const client = this.server()?.client;
    if (!client) return [];
    const asked = this.#uri === undefined ? {} : { uri: this.#uri };
    return (await client.sendRequest(historyRequest, asked)).profiles;
  }

  async #pick(): Promise<(KeptProfile | undefined)[]> {
    const profiles = await this.#profiles();
    const picks = profiles.map((profile) => ({
      label: nameOf(profile),
      description: `${duration(totalOf(profile))} · ${new Date(profile.time).toLocaleString()}`,
      profile,
    }));
    if (picks.length < 2) {
      void vscode.window.showInformationMessage("There are no two profiles of this project yet.");
      return [];
    }
    const before = await vscode.window.showQuickPick(picks, { title: "Compare: the profile before" });
    if (!before) return [];
    const others = picks.filter((one) => one !== before);
    const after = await vscode.window.showQuickPick(others, { title: "Compare: the profile after" });
    return [before.profile, after?.profile];
  }
}

function nameOf(profile: KeptProfile): string {
  return `${profile.commit.slice(0, 7) || "no commit"}${profile.dirty ? "+" : ""}`;
}

/** The GPU time of all kernels; null where that of one is not known. */
function totalOf({ kernels }: KeptProfile): number | null {
  return kernels.reduce<number | null>(
    (sum, { timeNs }) => (sum === null || timeNs === null ? null : sum + timeNs),
    0,
  );
}

/** The older one first. */
function inOrder(profiles: readonly KeptProfile[]): KeptProfile[] {
  return [...profiles].sort((a, b) => a.time.localeCompare(b.time));
}

function duration(nanoseconds: number | null): string {
  if (nanoseconds === null) return "unknown";
  const [value, unit] =
    nanoseconds < 1e3
      ? [nanoseconds, "ns"]
      : nanoseconds < 1e6
        ? [nanoseconds / 1e3, "us"]
        : [nanoseconds / 1e6, "ms"];
  return `${value.toPrecision(3)} ${unit}`;
}
