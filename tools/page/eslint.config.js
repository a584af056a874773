import js from "@eslint/js";

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: true },
    rules: {
      eqeqeq: "error",
      "max-len": ["error", { code: 120 }],
      "max-lines": ["error", 400],
      "max-params": ["error", 8],
      "no-undef": "off", // tsc knows the names of the browser
      "no-var": "error",
      "prefer-const": "error",
    },
  },
  {
    files: ["**/serve/static/*.js"], // what changes is in store.js
    rules: { "no-restricted-syntax": ["error", "Program > VariableDeclaration[kind='let']"] },
  },
  { files: ["**/strings-*.js"], rules: { "max-lines": "off" } }, // a table: one line for each text
];
