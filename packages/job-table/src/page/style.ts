import { createHash } from "node:crypto";

export const STYLE = `
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: #1c1c1c; background: #fff; }
:focus-visible { outline: 3px solid #0b4f9e; outline-offset: 2px; }
a { color: #0b4f9e; }
h2 { margin: 2rem 0 .5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; margin: 1rem 0; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; position: relative; }
table { border-collapse: collapse; width: 100%; }
caption { text-align: left; color: #4a4a4a; padding-bottom: .5rem; }
th, td { text-align: left; vertical-align: top; padding: .5rem 1rem .5rem 0; border-bottom: 1px solid #c9c9c9; }
thead th, time { white-space: nowrap; }
tbody th, td { overflow-wrap: anywhere; min-width: 5rem; }
tbody th { min-width: 10rem; }
td.error { min-width: 16rem; white-space: pre-wrap; font-family: ui-monospace, monospace; font-size: .875rem; }
small { display: block; color: #4a4a4a; font-weight: 400;
  font-family: ui-monospace, monospace; }
.late { color: #a4161a; font-weight: 600; }
.note { background: #eef4fb; padding: .75rem; }
button { font: inherit; padding: .375rem .75rem; color: #fff; background: #0b4f9e; border: 1px solid #0b4f9e;
  border-radius: .25rem; cursor: pointer; }
.all { margin: 1rem 0; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
`;

const hash = createHash("sha256").update(STYLE).digest("base64");

/** Allows this style and forms that target the page's own origin, but no scripts, images, frames or other origins. */
export const CONTENT_POLICY: string =
  `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; ` +
  "base-uri 'none'; frame-ancestors 'none'";
