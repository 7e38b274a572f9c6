import type { IncomingMessage, ServerResponse } from "node:http";
import { type OidcLogin, oidcLogin, type OidcLoginOptions, type ProviderOptions } from "@svc/oidc-login";
import { notFound, problemHandler } from "@svc/problem";
import { collectingLogger, expressMajors, type Line, listen, type Listening } from "@svc/test-support";

export type Stack = "bare http" | keyof typeof expressMajors;
export const stacks: readonly Stack[] = ["bare http", "express 4", "express 5"];
export const SECRET = "a cookie secret of at least 32 bytes, at random";

/** A running service with sign-in, and its log records. */
export interface Service extends Listening {
  readonly login: OidcLogin;
  readonly lines: readonly Line[];
  /** Returns the reason of the last rejected sign-in. */
  reason(): unknown;
}

export type Given = Omit<OidcLoginOptions, "providers" | "cookieSecret"> & {
  readonly providers: Readonly<
    Record<string, Omit<ProviderOptions, "redirectUri"> & { redirectUri?: string }>
  >;
  readonly cookieSecret?: OidcLoginOptions["cookieSecret"];
};

/** Starts a service with the sign-in routes. By default `env` is `local`, and `onIdentity` returns the identity. */
export async function serve(given: Given, stack: Stack = "bare http"): Promise<Service> {
  const logger = collectingLogger();
  const { lines } = logger;
  const onError = problemHandler({ logger: undefined });
  const running: OidcLogin[] = [];
  const handle = (req: IncomingMessage, res: ServerResponse): void => {
    running[0]?.(req, res, (error) => {
      if (error !== undefined) onError(error, req, res, () => undefined);
      else notFound()(req, res, (fault?: unknown) => onError(fault, req, res, () => undefined));
    });
  };
  const app = stack === "bare http" ? undefined : expressMajors[stack]();
  const server = await listen(app ?? handle);
  const { prefix = "/auth" } = given;
  const providers = Object.fromEntries(
    Object.entries(given.providers).map(([name, options]) => [
      name,
      { redirectUri: `${server.url}${prefix}/${name}/callback`, ...options },
    ]),
  );
  const login = oidcLogin({
    env: "local",
    logger,
    cookieSecret: SECRET,
    onIdentity: (identity) => identity,
    ...given,
    providers,
  });
  if (app !== undefined) {
    app.use(login);
    app.use(notFound());
    app.use(onError);
  }
  running.push(login);
  return {
    ...server,
    login,
    lines,
    reason: () => lines.findLast((each) => each.message === "sign-in refused")?.fields["reason"],
    async [Symbol.asyncDispose]() {
      login.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
}

export async function problemIn(response: Response): Promise<Problem> {
  return (await response.json()) as Problem;
}
