// Keys for language models, in the editor's secret store, by the address that each is for. The server gets them in its
// environment when it starts, takes them out of it, and keeps them in memory.
import * as vscode from "vscode";

const SLOT = "hipscope.modelKeys";
const KNOWN = [
  "https://api.openai.com/v1",
  "https://api.anthropic.com/v1",
  "https://generativelanguage.googleapis.com/v1beta",
  "https://openrouter.ai/api/v1",
];
const OTHER = "Another address...";

export class Keys {
  constructor(private readonly secrets: vscode.SecretStorage) {}

  /** What the server's environment gets on top. */
  async environment(): Promise<Record<string, string>> {
    const stored = await this.secrets.get(SLOT);
    return stored ? { HIPSCOPE_MODEL_KEYS: stored } : {};
  }

  /** Asks for an address and a key and stores them. True when something changed. */
  async add(): Promise<boolean> {
    const keys = await this.#read();
    const base = await askForAddress(Object.keys(keys));
    if (!base) return false;
    const key = await vscode.window.showInputBox({
      title: `Key for ${base}`,
      prompt: "Kept in the editor's secret store; sent to this address only.",
      password: true,
      ignoreFocusOut: true,
    });
    if (!key?.trim()) return false;
    await this.secrets.store(SLOT, JSON.stringify({ ...keys, [base]: key.trim() }));
    return true;
  }

  /** Asks which key to forget. True when something changed. */
  async remove(): Promise<boolean> {
    const keys = await this.#read();
    const bases = Object.keys(keys);
    if (bases.length === 0) {
      void vscode.window.showInformationMessage("hipscope keeps no key for a language model.");
      return false;
    }
    const chosen = await vscode.window.showQuickPick(bases, { title: "Forget the key for" });
    if (!chosen) return false;
    const left = Object.entries(keys).filter(([base]) => base !== chosen);
    if (left.length > 0) await this.secrets.store(SLOT, JSON.stringify(Object.fromEntries(left)));
    else await this.secrets.delete(SLOT);
    return true;
  }

  async #read(): Promise<Record<string, string>> {
    const stored = await this.secrets.get(SLOT);
    try {
      return stored ? (JSON.parse(stored) as Record<string, string>) : {};
    } catch {
      return {};
    }
  }
}

async function askForAddress(stored: readonly string[]): Promise<string | undefined> {
  const bases = [...new Set([...stored, ...KNOWN]), OTHER];
  const chosen = await vscode.window.showQuickPick(bases, { title: "Store a key for the language model at" });
  if (chosen !== OTHER) return chosen;
  const typed = await vscode.window.showInputBox({
    title: "Address of the API",
    prompt: "As in llm.api_base of hipscope.toml, such as https://models.example.org/v1",
    ignoreFocusOut: true,
    validateInput: (text) =>
      /^https?:\/\/\S+$/.test(text.trim()) ? undefined : "An address that starts with https://",
  });
  return typed?.trim().replace(/\/+$/, "");
}
