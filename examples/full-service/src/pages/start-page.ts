import { demoPassword, demoUsers } from "../demo-users.ts";
import { type Html, markup } from "@svc/html";
import { layout } from "./layout.ts";

/** The facts about the service that the page shows. */
export interface StartPageFacts {
  /** The port of the service, for the example calls. */
  readonly port: number | undefined;
  /** Whether links to pages that `prod` does not have are omitted. */
  readonly isProduction: boolean;
  /** Whether the service shows its spans. */
  readonly hasTraces: boolean;
  /** Whether the demo users exist. */
  readonly hasDemoUsers: boolean;
}

const links = [
  ["/sign-in", "sign in with a password, as a user of a tenant"],
  ["/reports", "charts of a tenant's spending by month, after sign-in"],
  ["/receipts", "a search through a tenant's receipts, by similarity and by words, after sign-in"],
  ["/whoami", "a route for all callers, signed in or not"],
  ["/expenses", "the expenses of a tenant, without a token: a 401 problem"],
  ["/nowhere", "a path that does not exist: a 404 problem"],
  ["/health", "liveness: whether the process is running"],
  ["/ready", "readiness: whether the service and its database can serve requests"],
  ["/info", "version and plugins"],
  ["/metrics", "counts and durations of requests"],
  ["/queue", "pending and dead jobs, for operators, after sign-in"],
  ["/debug/traces", "the last requests, jobs and events with their SQL statements, and how long each took"],
] as const;

const notInProduction: readonly string[] = ["/info", "/queue"];

/** Returns the start page as an HTML document. */
export function startPage({ port = 8000, isProduction, hasTraces, hasDemoUsers }: StartPageFacts): string {
  const items = links
    .filter(([href]) => !isProduction || !notInProduction.includes(href))
    .filter(([href]) => hasTraces || href !== "/debug/traces")
    .map(([href, text]) => markup`<li><a href="${href}">${href}</a>: ${text}</li>`);
  const main = markup`<h1>Expenses</h1>
<p>A small service that keeps the expenses of many tenants in PostgreSQL. The demo tenants are
harbour-cafe, nordic-bikes and stone-and-leaf.</p>
<h2>Links to try</h2>
<ul>
${items}
</ul>
${hasDemoUsers && demoCalls(`http://localhost:${port}`, port)}`;
  return layout("Expenses: the example service", main);
}

function demoCalls(origin: string, port: number): Html {
  const [clerk, admin] = demoUsers.map(({ email }) => logIn(origin, email));
  return markup`<h2>Sign in</h2>
<p>A user of a tenant sees only the expenses of that tenant. The password of all demo users is
<code>${demoPassword}</code>. In a browser: <a href="/sign-in">sign in</a>. In a shell:</p>
<pre tabindex="0">TOKEN=${clerk}

# the newest expenses of the café, and the travel expenses of one month
curl -H "Authorization: Bearer $TOKEN" '${origin}/expenses?limit=5'
curl -H "Authorization: Bearer $TOKEN" '${origin}/expenses?month=2026-03&amp;category=travel'

# six statistics (total, count, ...) per month and category
curl -H "Authorization: Bearer $TOKEN" '${origin}/reports/monthly?from=2026-01&amp;to=2026-03'

# record an expense
curl -i -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"category":"meals","amount":"12.50","paid_at":"2026-03-01T12:00:00Z"}' ${origin}/expenses

# a route for admins, with the token of an admin and of a clerk
ADMIN=${admin}
curl -H "Authorization: Bearer $ADMIN" ${origin}/totals
curl -H "Authorization: Bearer $TOKEN" ${origin}/totals

# the address of another tenant: 403
curl -H "Authorization: Bearer $TOKEN" http://nordic-bikes.localhost:${port}/expenses</pre>`;
}

function logIn(origin: string, email: string): string {
  const body = JSON.stringify({ email, password: demoPassword });
  const first = "node -pe 'JSON.parse(fs.readFileSync(0)).access_token'";
  return `$(curl -s ${origin}/login -H 'Content-Type: application/json' -d '${body}' | ${first})`;
}
