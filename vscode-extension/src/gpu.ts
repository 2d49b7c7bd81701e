// Whether a document is GPU code: by its own text, or by the headers beside it. Takes a document, gives yes or no.
// Nothing of hipscope starts in a C++ folder before something in it is.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import * as vscode from "vscode";

const GPU_CODE =
  /__global__|<<<|#\s*include\s*[<"](?:hip\/|cuda_runtime)|\bhip(?:Launch|Malloc|Memcpy|Module)\w*\s*\(/;
const INCLUDED = /^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"/gm;
const MOST_FILES = 64;

export async function isGpuDocument(document: vscode.TextDocument): Promise<boolean> {
  if (document.uri.scheme !== "file") return false;
  if (document.languageId === "cuda-cpp" || document.languageId === "hip") return true;
  if (document.languageId !== "cpp" && document.languageId !== "c") return false;
  return isGpuText(document.uri.fsPath, document.getText());
}

/** Whether the open folders have settings of hipscope or a `.hip` file. */
export async function isGpuWorkspace(): Promise<boolean> {
  const found = await vscode.workspace.findFiles("{**/hipscope.toml,**/*.hip}", "**/node_modules/**", 1);
  return found.length > 0;
}

async function isGpuText(file: string, text: string): Promise<boolean> {
  const waiting: [string, string][] = [[file, text]];
  const seen = new Set([file]);
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const [path, content] = next;
    if (GPU_CODE.test(content)) return true;
    for (const [, name = ""] of content.matchAll(INCLUDED)) {
      const header = resolve(dirname(path), name);
      if (seen.has(header) || seen.size >= MOST_FILES) continue;
      seen.add(header);
      const found = await readFile(header, "utf8").catch(() => undefined);
      if (found !== undefined) waiting.push([header, found]);
    }
  }
  return false;
}
