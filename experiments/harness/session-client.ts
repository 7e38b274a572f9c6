import type { Agent } from "node:http";
import { type Outcome, send } from "./client.ts";

/** The pair of tokens that a sign-in or a refresh returns. */
export interface Pair {
  readonly access_token: string;
  readonly refresh_token: string;
}

/** A service that keeps sessions (`services/sessions.ts`), and the agent for requests to it. */
export interface Sessions {
  readonly port: number;
  readonly agent: Agent;
}

/** Starts a session of the given user. */
export async function signInAs({ port, agent }: Sessions, subject: string): Promise<Pair> {
  const { status, body } = await send(port, `/pairs?count=1&subject=${subject}`, { agent, method: "POST" });
  if (status !== 200) throw new Error(`no session was started: ${status} ${body}`);
  const [pair] = JSON.parse(body) as [Pair];
  return pair;
}

/** Ends all sessions of the user to whom the token belongs. */
export function signOutEverywhere({ port, agent }: Sessions, accessToken: string): Promise<Outcome> {
  return send(port, "/sign-out-everywhere", { agent, method: "POST", headers: bearer(accessToken) });
}

/** Starts `count` sessions, each of a different user. */
export async function signIn({ port, agent }: Sessions, count: number): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  while (pairs.length < count) {
    const some = Math.min(100, count - pairs.length);
    const { status, body } = await send(port, `/pairs?count=${some}`, { agent, method: "POST" });
    if (status !== 200) throw new Error(`no session was started: ${status} ${body}`);
    pairs.push(...(JSON.parse(body) as Pair[]));
  }
  return pairs;
}

export function refresh({ port, agent }: Sessions, refreshToken: string): Promise<Outcome> {
  return send(port, "/auth/refresh", { agent, method: "POST", json: { refresh_token: refreshToken } });
}

export function logout({ port, agent }: Sessions, accessToken: string): Promise<Outcome> {
  return send(port, "/auth/logout", { agent, method: "POST", headers: bearer(accessToken) });
}

/** Sends a request to a route that needs a signed-in user. */
export function orders({ port, agent }: Sessions, accessToken: string): Promise<Outcome> {
  return send(port, "/orders", { agent, headers: bearer(accessToken) });
}

/** Returns the new token pair of a refresh; undefined when the refresh was refused. */
export function pairOf({ status, body }: Outcome): Pair | undefined {
  return status === 200 ? (JSON.parse(body) as Pair) : undefined;
}

/** Describes a response briefly, for example `200` or `401 this session has been revoked`. */
export function inWords({ status, headers, body, error }: Outcome): string {
  if (status === 0) return error ?? "no answer";
  if (headers["content-type"] !== "application/problem+json") return String(status);
  const { detail } = JSON.parse(body) as { readonly detail?: string };
  return `${status} ${detail}`;
}

function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}
