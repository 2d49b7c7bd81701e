// The arguments of one program: asked for in an input box, or picked from those of its build files. The server writes them.
import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";
import type { BaseLanguageClient } from "vscode-languageclient/node";
import { argumentsRequest, SERVER_SET_ARGUMENTS } from "./protocol";

interface Choice extends vscode.QuickPickItem {
  /** The arguments; with `edit`, what the input box begins with. */
  readonly words: readonly string[];
  readonly edit: boolean;
}

/** Asks for the arguments of the program of a document and has the server write and use them. */
export async function askForArguments(client: BaseLanguageClient, uri: string): Promise<void> {
  const program = await client.sendRequest(argumentsRequest, { uri });
  const chosen = await choose(
    program.name,
    program.suggestions.map((one) => ({
      label: one.arguments.join(" "),
      description: `from ${one.origin}`,
      words: one.arguments,
      edit: false,
    })),
    program.arguments,
  );
  if (!chosen) return;
  const where = program.writes === "toml" ? "hipscope.toml" : "a comment of the source";
  const text = chosen.edit
    ? await vscode.window.showInputBox({
        title: `Arguments of ${program.name}`,
        prompt: `As in a shell. They are written into ${where}; Undo takes them back.`,
        value: chosen.words.map(quoted).join(" "),
        ignoreFocusOut: true,
      })
    : chosen.words;
  if (text === undefined) return;
  await client.sendRequest(ExecuteCommandRequest.type, {
    command: SERVER_SET_ARGUMENTS,
    arguments: [{ uri, arguments: text }],
  });
}

async function choose(
  name: string,
  suggested: readonly Choice[],
  now: readonly string[],
): Promise<Choice | undefined> {
  const own: Choice = { label: "Other arguments...", words: now, edit: true };
  if (suggested.length === 0) return own;
  return vscode.window.showQuickPick([...suggested, own], { title: `Arguments of ${name}` });
}

/** A word as a shell reads it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
