import type { TokenPair } from "@svc/token-issuer";
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * The two cookies of a signed-in browser: the access token, and the refresh token, which is exchanged for the next
 * access token.
 */
export interface SessionCookies {
  accessTokenOf(req: IncomingMessage): string | undefined;
  refreshTokenOf(req: IncomingMessage): string | undefined;
  set(res: ServerResponse, pair: TokenPair): void;
  clear(res: ServerResponse): void;
}

/** Options of {@link sessionCookies}. */
export interface SessionCookiesOptions {
  /** Whether browsers use https only. */
  readonly secure: boolean;
  /** Lifetime of a refresh token in seconds. */
  readonly refreshSeconds: number;
}

/**
 * Returns cookies that no script can read and no other site can send with a form. `__Host-` keeps other hosts below the
 * same domain from setting them; browsers accept such names over https only, so in `local` they have no prefix.
 */
export function sessionCookies({ secure, refreshSeconds }: SessionCookiesOptions): SessionCookies {
  const prefix = prefixOf(secure);
  const flags = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  const access = accessCookie(secure);
  const refresh = `${prefix}refresh`;

  return {
    accessTokenOf: (req) => cookieOf(req, access),
    refreshTokenOf: (req) => cookieOf(req, refresh),
    set(res, pair) {
      res.appendHeader("Set-Cookie", [
        `${access}=${pair.access_token}; Max-Age=${pair.expires_in}; ${flags}`,
        `${refresh}=${pair.refresh_token}; Max-Age=${refreshSeconds}; ${flags}`,
      ]);
    },
    clear(res) {
      res.appendHeader(
        "Set-Cookie",
        [access, refresh].map((name) => `${name}=; Max-Age=0; ${flags}`),
      );
    },
  };
}

/** Returns the name of the cookie that has the access token. */
export function accessCookie(secure: boolean): string {
  return `${prefixOf(secure)}session`;
}

function prefixOf(secure: boolean): string {
  return secure ? "__Host-" : "";
}

function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  for (const pair of headers.cookie?.split(";") ?? []) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name && value !== undefined && value !== "") return value;
  }
  return undefined;
}
