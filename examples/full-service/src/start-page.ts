const links = [
  ["/expenses?tenant=harbour-cafe", "the newest expenses of one tenant"],
  ["/expenses?month=2026-03&category=travel", "all travel in March 2026"],
  ["/expenses?tenant=nowhere-at-all", "a tenant that has none: an empty list"],
  ["/expenses?month=march", "a filter that is wrong: a 422 problem that names it"],
  ["/expenses/0123456789abcdef0123456789abcdef", "an expense that does not exist: a 404 problem"],
  ["/health", "is it up?"],
  ["/ready", "can it serve? With the database's check"],
  ["/info", "what is in it?"],
  ["/metrics", "how much, how fast, how many?"],
];

/** What a newcomer sees first. */
export const startPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Expenses: the example service</title>
<style>
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #1c1c1c; background: #fff; }
a { color: #0b4f9e; } a:focus-visible { outline: 3px solid #0b4f9e; outline-offset: 2px; }
pre { background: #f2f2f2; padding: .75rem; overflow-x: auto; }
</style>
</head>
<body>
<main>
<h1>Expenses</h1>
<p>A small service with the expenses of three tenants (harbour-cafe, nordic-bikes, stone-and-leaf) on a real PostgreSQL.</p>
<h2>Links to try</h2>
<ul>
${links.map(([href, text]) => `<li><a href="${href?.replaceAll("&", "&amp;")}">${href?.replaceAll("&", "&amp;")}</a>: ${text}</li>`).join("\n")}
</ul>
<h2>Record one</h2>
<pre>curl -i -H 'Content-Type: application/json' \\
  -d '{"tenant":"harbour-cafe","category":"meals","amount":"12.50","note":"lunch","paid_at":"2026-03-01T12:00:00Z"}' \\
  http://localhost:8000/expenses</pre>
</main>
</body>
</html>
`;
