import { type Html, markup } from "@svc/html";

// Styles are inline, which helmet's policy allows, because the service has no static files.
const style: Html = markup`
  :root {
    color-scheme: light dark;
    --text: #1c1c1c; --ground: #fff; --accent: #0b4f9e; --on-accent: #fff; --soft: #f2f2f2; --note: #eef4fb;
    --line: #c9c9c9; --edge: #595959; --bad: #a4161a; --mark: #ffe9a8;
  }
  @media (prefers-color-scheme: dark) {
    :root {
      --text: #e6e6e6; --ground: #16181c; --accent: #8cbcf5; --on-accent: #10131a; --soft: #24272d; --note: #1d2a3b;
      --line: #454a52; --edge: #9aa0a8; --bad: #ff9a94; --mark: #6b5200;
    }
  }
  body {
    font: 1rem/1.5 system-ui, sans-serif;
    max-width: 44rem; margin: 2rem auto; padding: 0 1rem;
    color: var(--text); background: var(--ground);
  }
  a { color: var(--accent); overflow-wrap: anywhere; }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
  pre { background: var(--soft); padding: .75rem; overflow-x: auto; }
  label { display: block; font-weight: 600; margin-top: 1rem; }
  input, select {
    display: block; font: inherit; width: 100%; max-width: 24rem; box-sizing: border-box; padding: .5rem;
    border: 1px solid var(--edge); border-radius: .25rem; color: inherit; background: var(--ground);
  }
  input[aria-invalid] { border: 2px solid var(--bad); }
  button, .button {
    display: inline-block; font: inherit; padding: .5rem 1rem; margin: 1rem 0 0;
    color: var(--on-accent); background: var(--accent); border: 1px solid var(--accent); border-radius: .25rem;
    text-decoration: none; cursor: pointer;
  }
  .plain { color: var(--accent); background: var(--ground); margin: 0; }
  .error { color: var(--bad); font-weight: 600; }
  .note { background: var(--note); padding: .75rem; }
  .sessions { list-style: none; padding: 0; }
  .sessions li { padding: .75rem 0; border-bottom: 1px solid var(--line); }
  .sessions p { margin: 0 0 .5rem; }
  .agent { overflow-wrap: anywhere; }
  .row { display: flex; flex-wrap: wrap; gap: 0 1rem; align-items: end; }
  .row > div { flex: 1 1 12rem; }
  .row input, .row select { max-width: none; height: 2.6rem; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: .5rem .5rem .5rem 0; border-bottom: 1px solid var(--line); }
  .hidden {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
  }`;

/**
 * Returns a whole HTML document, light or dark as the browser prefers.
 *
 * @param more styles for this page only
 */
export function layout(title: string, main: Html, more?: Html): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${style}${more}
</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`.text;
}
