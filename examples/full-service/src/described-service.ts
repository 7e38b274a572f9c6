import type { Service, ServiceOptions } from "@svc/express";
import type { DocumentedRoute } from "@svc/openapi";
import { z } from "zod";
import { html, pageErrorBodies } from "./pages/page-description.ts";
import { accessCookie } from "./session-cookies.ts";
import { tokenPair } from "./token-pair.ts";

/** Properties of the service that do not follow from its routes. */
export interface DescribedServiceOptions {
  /** Whether browsers use https only. */
  readonly secure: boolean;
  /** Returns the service; undefined before it has routes. */
  readonly service: () => Service | undefined;
}

/** Returns the parts of the document that do not come from the descriptions of the routes. */
export function describedService({ secure, service }: DescribedServiceOptions): ServiceOptions["openapi"] {
  return {
    info: {
      contact: { name: "The maintainers of the example" },
      license: { name: "MIT", identifier: "MIT" },
    },
    tags: {
      expenses: "The expenses of the caller's tenant",
      imports: "Files of expenses",
      jobs: "The jobs of the service, for its operators",
      pages: "Pages and forms for browsers",
      reports: "Statistics of expenses",
      search: "The texts of receipts",
      session: "The caller, and the caller's tokens",
    },
    tokenCookie: accessCookie(secure),
    routes: () => pluginRoutes(service()),
  };
}

/** Returns the routes of the plugins `auth` and `queue`. */
function pluginRoutes(service: Service | undefined): DocumentedRoute[] {
  if (service === undefined) return [];
  const { config, issuer } = service;
  const { env } = config.service;
  return [
    ...tokenRoutes,
    ...(issuer?.jwks() === undefined ? [] : [keySetRoute]),
    ...Object.keys(config.plugin.auth?.providers ?? {}).flatMap(providerRoutes),
    // The page shows jobs of every tenant, so `prod` does not have it.
    ...(env === "prod" ? [] : queueRoutes),
  ];
}

const unavailable = "the database is not available";
const signedIn = [{ kind: "auth", values: [] }] as const;

/** The routes of the plugin `auth`. */
const tokenRoutes: readonly DocumentedRoute[] = [
  {
    method: "POST",
    template: "/auth/refresh",
    description: {
      summary: "Renews the tokens",
      description: "Exchanges a refresh token for a new pair. A refresh token works once.",
      tags: ["session"],
      request: { body: z.object({ refresh_token: z.string() }) },
      responses: { 200: { body: tokenPair }, 401: "the refresh token is not valid", 503: unavailable },
    },
  },
  {
    method: "POST",
    template: "/auth/logout",
    guards: signedIn,
    description: {
      summary: "Ends the session of the token",
      description: "Its access token and its refresh token are no longer accepted.",
      tags: ["session"],
      responses: { 204: "The session has ended", 503: unavailable },
    },
  },
  {
    method: "GET",
    template: "/auth/me",
    guards: signedIn,
    description: {
      summary: "Returns what the token says",
      description: "The subject, the tenant, the scopes and the roles of the caller.",
      tags: ["session"],
      responses: {
        200: {
          body: z.strictObject({
            subject: z.string(),
            tenant_id: z.string().nullable(),
            scopes: z.array(z.string()),
            roles: z.array(z.string()),
            token_id: z.string().nullable(),
          }),
        },
        503: unavailable,
      },
    },
  },
];

const keySetRoute: DocumentedRoute = {
  method: "GET",
  template: "/.well-known/jwks.json",
  description: {
    summary: "The keys that verify tokens",
    description: "A JSON Web Key Set, without private keys.",
    tags: ["session"],
    responses: {
      200: { body: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }) },
      304: "The client has these keys",
    },
  },
};

/** Returns the routes of the plugin `auth` for sign-in through a provider. */
function providerRoutes(name: string): DocumentedRoute[] {
  return [
    {
      method: "GET",
      template: `/auth/${name}/start`,
      description: {
        summary: `Redirects to the provider ${name}`,
        description:
          "Starts a sign-in. `return_to` is the path to which the browser is redirected afterwards.",
        tags: ["pages"],
        responses: { 302: "redirects to the provider", 503: "the provider is not available" },
        errorBodies: pageErrorBodies,
      },
    },
    {
      method: "GET",
      template: `/auth/${name}/callback`,
      description: {
        summary: `Completes a sign-in with the provider ${name}`,
        description: "The provider redirects the browser here.",
        tags: ["pages"],
        responses: {
          303: "redirects the browser",
          401: "the sign-in was refused",
          503: "the provider or the database is not available",
        },
        errorBodies: pageErrorBodies,
      },
    },
  ];
}

// The guard of the page sends visitors who are not signed in to the sign-in page, so the token is optional in the document.
const visitor = [{ kind: "optional_auth", values: [] }] as const;
const toSignIn = "redirects to the sign-in page";
const rotating = "another tab renews the session";
const ofOperators = {
  303: toSignIn,
  307: rotating,
  401: "the token is not valid",
  403: "the caller is not an operator",
  409: rotating,
  503: unavailable,
} as const;
const count = z.int().nonnegative();

/** The routes of the plugin `queue`. */
const queueRoutes: readonly DocumentedRoute[] = [
  {
    method: "GET",
    template: "/queue",
    guards: visitor,
    description: {
      summary: "Shows the jobs",
      description: "The page lists pending, running and dead jobs, with buttons that retry dead jobs.",
      tags: ["jobs", "pages"],
      responses: { 200: html, ...ofOperators },
      errorBodies: pageErrorBodies,
    },
  },
  {
    method: "GET",
    template: "/queue/stats",
    guards: visitor,
    description: {
      summary: "Counts the jobs",
      description: "By state.",
      tags: ["jobs"],
      responses: {
        200: { body: z.strictObject({ pending: count, running: count, dead: count }) },
        ...ofOperators,
      },
    },
  },
  {
    method: "POST",
    template: "/queue/retry",
    guards: visitor,
    description: {
      summary: "Retries dead jobs",
      description: "A form of the page: `all`, or one or more `id`.",
      tags: ["jobs", "pages"],
      requestBodies: { "application/x-www-form-urlencoded": { schema: { type: "object" } } },
      responses: { ...ofOperators, 303: "redirects to the page, or to the sign-in page" },
      errorBodies: pageErrorBodies,
    },
  },
];
