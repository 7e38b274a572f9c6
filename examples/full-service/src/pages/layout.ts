import { type Html, markup } from "./html.ts";

// Inline, which helmet's policy allows of styles: pages of a service without files to serve.
const style: Html = markup`
  body {
    font: 1rem/1.5 system-ui, sans-serif;
    max-width: 44rem; margin: 2rem auto; padding: 0 1rem;
    color: #1c1c1c; background: #fff;
  }
  a { color: #0b4f9e; overflow-wrap: anywhere; }
  :focus-visible { outline: 3px solid #0b4f9e; outline-offset: 2px; }
  pre { background: #f2f2f2; padding: .75rem; overflow-x: auto; }
  label { display: block; font-weight: 600; margin-top: 1rem; }
  input {
    display: block; font: inherit; width: 100%; max-width: 24rem; box-sizing: border-box; padding: .5rem;
    border: 1px solid #595959; border-radius: .25rem;
  }
  input[aria-invalid] { border: 2px solid #a4161a; }
  button, .button {
    display: inline-block; font: inherit; padding: .5rem 1rem; margin: 1rem 0 0;
    color: #fff; background: #0b4f9e; border: 1px solid #0b4f9e; border-radius: .25rem;
    text-decoration: none; cursor: pointer;
  }
  .plain { color: #0b4f9e; background: #fff; margin: 0; }
  .error { color: #a4161a; font-weight: 600; }
  .note { background: #eef4fb; padding: .75rem; }
  .sessions { list-style: none; padding: 0; }
  .sessions li { padding: .75rem 0; border-bottom: 1px solid #c9c9c9; }
  .sessions p { margin: 0 0 .5rem; }
  .agent { overflow-wrap: anywhere; }
  table { border-collapse: collapse; width: 100%; }
  th, td { text-align: left; vertical-align: top; padding: .5rem .5rem .5rem 0; border-bottom: 1px solid #c9c9c9; }
  .hidden {
    position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
  }`;

/** A whole document. */
export function layout(title: string, main: Html): string {
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${style}
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
