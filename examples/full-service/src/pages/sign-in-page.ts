import { demoPassword, demoUsers } from "../demo-users.ts";
import { home } from "../return-to.ts";
import { markup } from "./html.ts";
import { layout } from "./layout.ts";

/** What somebody of the demo may do beyond what everybody of a tenant may. */
const abilities: Readonly<Record<string, string>> = {
  admin: ", who may see totals",
  operator: ", who looks after the queue",
};

/** What the page shows. */
export interface SignInPage {
  /** A path of this site. */
  readonly returnTo: string;
  /** Names of the providers by which one can sign in too. */
  readonly providers: readonly string[];
  /** Whether the people of the demo are shown, with their password. */
  readonly isDemo: boolean;
  /** What was wrong with the last try. Default: nothing. */
  readonly error?: string | undefined;
  /** What was typed there. Default: nothing. */
  readonly email?: string | undefined;
  /** What has become of the session that was there before. Default: nothing. */
  readonly note?: string | undefined;
}

export function signInPage({ returnTo, providers, isDemo, error, email = "", note }: SignInPage): string {
  const wrong = error !== undefined && markup` aria-invalid="true" aria-describedby="error"`;
  const again = error !== undefined && markup` autofocus`;
  const main = markup`<h1>Sign in</h1>
${note !== undefined && markup`<p class="note" role="status">${note}</p>`}
<form method="post" action="/login">
${error !== undefined && markup`<p class="error" id="error" role="alert">${error}</p>`}
<input type="hidden" name="return_to" value="${returnTo}">
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254" value="${email}"${wrong}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="200"${wrong}${again}>
<button>Sign in</button>
</form>
${providers.length > 0 && markup`<h2>Or with an account elsewhere</h2>`}
${providers.map(
  (name) =>
    markup`<p><a class="button plain" href="/auth/${name}/start?return_to=${encodeURIComponent(returnTo)}">Sign in with ${name}</a></p>`,
)}
${
  isDemo &&
  markup`<h2>People of the demo</h2>
<p>The password of all of them is <code>${demoPassword}</code>.</p>
<ul>
${demoUsers.map(({ email, role }) => markup`<li>${email}${abilities[role] ?? ""}</li>`)}
</ul>`
}
${returnTo === home && markup`<p><a href="/">What is this?</a></p>`}`;
  return layout(`${error === undefined ? "" : "Error: "}Sign in to Expenses`, main);
}
