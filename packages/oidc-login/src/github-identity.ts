import { func, number, optional, resolveOptions, string, withDefault } from "@svc/options";
import { jsonOf } from "@svc/resilience";
import type { Profile } from "./options.ts";
import { jsonObject, nameOf, providerFetch } from "./provider-fetch.ts";
import { LoginError, problemOf } from "./refusals.ts";

/** Options of `githubIdentity()`. */
export interface GithubIdentityOptions {
  /** Base URL of the API, which differs for GitHub Enterprise. Default: `https://api.github.com`. */
  readonly apiUrl?: string | undefined;
  /** Time limit of a request in seconds, 0.05 to 60. Default: 5. */
  readonly timeoutSeconds?: number | undefined;
  /** Replacement for `fetch`. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Returns the owner of an access token from GitHub's API (OIDC-18): the numeric user id, the primary address, and
 * whether GitHub has verified it. Without the scope `user:email`, returns the public address as unverified.
 *
 * @throws ProblemError 503 when GitHub exceeds the time limit or sends an unexpected body, 401 if it rejects the token
 */
export async function githubIdentity(
  accessToken: string,
  options: GithubIdentityOptions = {},
): Promise<Profile> {
  const { apiUrl, timeoutSeconds, fetch } = resolveOptions("githubIdentity()", options, {
    apiUrl: withDefault(string(), "https://api.github.com"),
    timeoutSeconds: withDefault(number({ min: 0.05, max: 60 }), 5),
    fetch: optional(func<typeof globalThis.fetch>()),
  });
  const ask = async (path: string) => {
    const headers = {
      authorization: `Bearer ${accessToken}`,
      accept: "application/vnd.github+json",
      "x-github-api-version": "2022-11-28",
      // GitHub rejects requests without a user agent.
      "user-agent": "svc-oidc-login",
    };
    try {
      return await providerFetch(
        fetch ?? globalThis.fetch,
        apiUrl + path,
        { headers },
        timeoutSeconds * 1000,
      );
    } catch (error) {
      // Keep only the error's name: for an invalid header, its message contains the header, and so the token.
      throw unavailable(nameOf(error));
    }
  };
  const [user, emails] = await Promise.all([ask("/user"), ask("/user/emails")]);
  if (user.status === 401 || user.status === 403)
    throw problemOf(new LoginError("profile", `${user.status}`));
  const claims = user.status === 200 ? jsonObject(user.body) : undefined;
  const id = claims?.["id"];
  if (claims === undefined || !Number.isSafeInteger(id) || Number(id) <= 0)
    throw unavailable(user.status === 200 ? "no user" : `${user.status}`);
  const primary = emails.status === 200 ? primaryOf(jsonOf(emails.body)) : undefined;
  return {
    subject: String(id),
    email: textOf(primary?.["email"] ?? claims["email"]),
    email_verified: primary?.["verified"] === true,
    name: textOf(claims["name"]),
    picture: textOf(claims["avatar_url"]),
    claims,
  };
}

function primaryOf(list: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!Array.isArray(list)) return undefined;
  return list.find(
    (each: unknown): each is Readonly<Record<string, unknown>> =>
      typeof each === "object" &&
      each !== null &&
      (each as { primary?: unknown }).primary === true &&
      typeof (each as { email?: unknown }).email === "string",
  );
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function unavailable(at: string): Error {
  return problemOf(new LoginError("provider_unreachable", at));
}
