// The editor test is held to the extension's lint rules.
export { default } from "../../vscode-extension/eslint.config.mjs";
