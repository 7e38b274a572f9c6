import type { Session } from "../sessions.ts";
import { type Html, markup } from "./html.ts";
import { layout } from "./layout.ts";

/** What the page shows. */
export interface AccountPage {
  readonly subject: string;
  readonly email: string | undefined;
  readonly tenant: string | undefined;
  readonly roles: readonly string[];
  readonly sessions: readonly Session[];
  /** The session that asks. */
  readonly family: string | undefined;
}

export function accountPage({ subject, email, tenant, roles, sessions, family }: AccountPage): string {
  const facts: readonly (readonly [string, string])[] = [
    ["Name", subject],
    ["E-mail", email ?? "unknown"],
    ["Tenant", tenant ?? "none"],
    ["Roles", roles.join(", ") || "none"],
  ];
  const main = markup`<h1>Your account</h1>
<table>
<caption class="hidden">Who you are</caption>
<tbody>
${facts.map(([name, value]) => markup`<tr><th scope="row">${name}</th><td>${value}</td></tr>`)}
</tbody>
</table>
<form method="post" action="/sign-out"><button>Sign out</button></form>
<h2 id="sessions">Where you are signed in</h2>
<div class="scroll" role="region" aria-labelledby="sessions" tabindex="0">
<table>
<thead>
<tr><th scope="col">Browser</th><th scope="col">Signed in</th><th scope="col">Last used</th><th scope="col">Sign out</th></tr>
</thead>
<tbody>
${sessions.map((session) => row(session, session.family === family))}
</tbody>
</table>
</div>
<form method="post" action="/sign-out-everywhere"><button>Sign out everywhere</button></form>
<p><a href="/">Start page</a></p>`;
  return layout("Your account at Expenses", main);
}

function row({ family, userAgent, created, lastUsed }: Session, isThis: boolean): Html {
  return markup`<tr>
<td class="agent">${userAgent || "unknown"}${isThis && markup` <strong>(this one)</strong>`}</td>
<td>${time(created)}</td>
<td>${time(lastUsed)}</td>
<td><form method="post" action="/sessions/${encodeURIComponent(family)}/sign-out">
<button class="plain">Sign out<span class="hidden"> the session of ${minute(created)}${isThis && ", this one"}</span></button>
</form></td>
</tr>`;
}

function time(moment: Date): Html {
  return markup`<time datetime="${moment.toISOString()}">${minute(moment)}</time>`;
}

function minute(moment: Date): string {
  return `${moment.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
