import type { TokenPair } from "@svc/token-issuer";
import type { IncomingMessage, ServerResponse } from "node:http";

/** The two cookies of somebody who is signed in: the access token, and the refresh token that gets the next one. */
export interface SessionCookies {
  accessTokenOf(req: IncomingMessage): string | undefined;
  refreshTokenOf(req: IncomingMessage): string | undefined;
  set(res: ServerResponse, pair: TokenPair): void;
  clear(res: ServerResponse): void;
}

/** What {@link sessionCookies} takes. */
export interface SessionCookiesOptions {
  /** Whether people come by https alone. */
  readonly secure: boolean;
  /** How long a refresh token lives. */
  readonly refreshSeconds: number;
}

/**
 * Cookies that no script can read and no other site can send with a form. `__Host-` keeps a neighbour below the same domain
 * from setting them; browsers take such names over https only, so on one's own machine they have none.
 */
export function sessionCookies({ secure, refreshSeconds }: SessionCookiesOptions): SessionCookies {
  const prefix = secure ? "__Host-" : "";
  const flags = `Path=/; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  const access = `${prefix}session`;
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

function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  for (const pair of headers.cookie?.split(";") ?? []) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name && value !== undefined && value !== "") return value;
  }
  return undefined;
}
