import type { RunningSample } from "@svc/test-support";
import { expect } from "chai";

/** Returns the log lines of a sample. */
export function linesOf(sample: RunningSample): Record<string, unknown>[] {
  const lines = sample.stdout().trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

export async function get(
  sample: RunningSample,
  path: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch((await sample.url) + path, { headers });
}

export async function post(
  sample: RunningSample,
  path: string,
  body: string,
  type = "application/json",
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch((await sample.url) + path, {
    method: "POST",
    body,
    headers: { "Content-Type": type, ...headers },
  });
}

/** Expects a problem document with the request's id. */
export async function problem(answer: Response, status: number, detail?: string): Promise<void> {
  expect([answer.status, answer.headers.get("Content-Type")]).to.deep.equal([
    status,
    "application/problem+json",
  ]);
  const body = (await answer.json()) as Record<string, unknown>;
  expect(body).to.include({ status, ...(detail === undefined ? {} : { detail }) });
  expect(body["request_id"]).to.equal(answer.headers.get("X-Request-ID"));
}

/** Waits until a condition holds; throws after ten seconds. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error("the condition did not hold within ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the Authorization header with a bearer token. */
export function bearer(token: string): Record<string, string> {
  return { Authorization: `Bearer ${token}` };
}

/** Expects the 401 problem that is the same for every reason. */
export async function unauthorized(answer: Response): Promise<void> {
  expect(answer.headers.get("WWW-Authenticate")).to.equal("Bearer");
  await problem(answer, 401, "authentication required");
}
