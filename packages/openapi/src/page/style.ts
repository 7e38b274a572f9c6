export const STYLE = `:root { color-scheme: light dark; --text: #1c1c1c; --ground: #fff; --accent: #0b4f9e; --on-accent: #fff;
  --soft: #f2f2f2; --quiet: #4a4a4a; --line: #c9c9c9; --edge: #595959; --bad: #a4161a; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e6e6; --ground: #16181c; --accent: #8cbcf5; --on-accent: #10131a;
    --soft: #24272d; --quiet: #b4b8bf; --line: #454a52; --edge: #9aa0a8; --bad: #ff9a94; }
}
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem;
  color: var(--text); background: var(--ground); overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
[hidden] { display: none !important; }
a { color: var(--accent); }
h2 { margin: 2rem 0 .5rem; }
h4 { margin: 1rem 0 .25rem; }
section > details { border-top: 1px solid var(--line); }
section > details[open] { padding-bottom: 1rem; }
summary { cursor: pointer; padding: .375rem .125rem; }
h3 { display: inline; margin: 0; font-size: 1rem; font-weight: 400; }
h3 b { display: inline-block; min-width: 4.5rem; color: var(--accent); }
h3 strong { color: var(--bad); }
code, pre, .type { font-family: ui-monospace, monospace; font-size: .875rem; }
.type { color: var(--quiet); }
.text, pre { white-space: pre-wrap; }
pre { margin: .5rem 0; padding: .75rem; background: var(--soft); }
.curl { user-select: all; }
ul { margin: .25rem 0; padding-left: 1.25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; margin: .25rem 0; }
dt { font-weight: 600; }
dd { margin: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line); }
th, td { overflow-wrap: break-word; max-width: 20rem; }
label { display: block; margin: .5rem 0; font-weight: 600; }
input, textarea, select { display: block; box-sizing: border-box; width: 100%; max-width: 32rem; padding: .375rem; color: inherit;
  font: inherit; font-weight: 400; background: var(--ground); border: 1px solid var(--edge); border-radius: .25rem; }
textarea { font: .875rem/1.5 ui-monospace, monospace; max-width: none; }
small { font-weight: 400; color: var(--quiet); }
button { font: inherit; margin: 0 .5rem 0 0; padding: .25rem .75rem; color: var(--on-accent); background: var(--accent);
  border: 1px solid var(--accent); border-radius: .25rem; cursor: pointer; }
`;
