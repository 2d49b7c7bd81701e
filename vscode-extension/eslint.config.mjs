// Lint rules for the extension's TypeScript and for the editor test's plain modules.
import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

const nodeGlobals = Object.fromEntries(
  ["AbortSignal", "URL", "clearTimeout", "console", "performance", "process", "setTimeout"].map((name) => [
    name,
    "readonly",
  ]),
);

export default defineConfig(
  { ignores: ["dist/", "node_modules/"] },
  js.configs.recommended,
  { rules: { eqeqeq: "error", "no-console": "off", "prefer-const": "error" } },
  {
    files: ["src/**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      "@typescript-eslint/no-explicit-any": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  { files: ["**/*.mjs"], languageOptions: { globals: nodeGlobals } },
);
