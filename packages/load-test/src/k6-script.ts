import { hideToken } from "./clean-text.ts";
import type { Settings } from "./options.ts";
import type { PlannedRequest } from "./plan.ts";

/** The modules of k6 that the script imports. */
const modules = { http: "k6/http", exec: "k6/execution", "{ Rate }": "k6/metrics" };

/**
 * Returns a script for k6 that sends the same requests: one stage per step, with the limits as thresholds. The token and
 * the values of given headers come from environment variables, because they may be secrets.
 */
export function k6Script(requests: readonly PlannedRequest[], settings: Settings): string {
  const { origin, clients, seconds, rate, timeoutSeconds, maxP99Ms, maxErrorRate, headers, token } = settings;
  const given = Object.keys(headers).filter((name) => token === undefined || name !== "authorization");
  const variables = given.map((name) => ({ name, variable: variableOf(name) }));
  const needed = [
    "BASE_URL",
    ...(token === undefined ? [] : ["TOKEN"]),
    ...variables.map(({ variable }) => variable),
  ];
  const planned = requests.map(({ route, method, path, headers: ofRoute, body }) => ({
    route,
    method,
    path: hideToken(path, token),
    headers: Object.fromEntries(
      Object.entries(ofRoute).map(([name, value]) => [name, hideToken(value, token)]),
    ),
    body: body === undefined ? null : hideToken(body, token),
  }));
  return `// k6 run ${needed.map((variable) => `-e ${variable}=...`).join(" ")} this-file.js
${Object.entries(modules)
  .map(([names, module]) => `import ${names} from "${module}";`)
  .join("\n")}

const base = __ENV.BASE_URL || ${json(origin)};
const common = {};
${token === undefined ? "" : 'if (__ENV.TOKEN) common["authorization"] = "Bearer " + __ENV.TOKEN;\n'}${variables
    .map(({ name, variable }) => `if (__ENV.${variable}) common[${json(name)}] = __ENV.${variable};\n`)
    .join("")}const requests = ${json(planned)};

// Errors are 5xx, 429 and failed connections; other statuses are not.
const errors = new Rate("load_errors");

export const options = {
  scenarios: { load: ${json(scenarioOf(clients, seconds, rate))} },
  thresholds: {
    load_errors: ["rate<=${maxErrorRate / 100}"],
    http_req_duration: ["p(99)<=${maxP99Ms}"],
  },
};

export default function () {
  // Clients start at different requests.
  const request = requests[(exec.vu.idInTest + exec.vu.iterationInScenario) % requests.length];
  const response = http.request(request.method, base + request.path, request.body, {
    headers: Object.assign({}, common, request.headers),
    redirects: 0,
    timeout: "${timeoutSeconds}s",
    tags: { name: request.route },
  });
  errors.add(response.status === 0 || response.status === 429 || response.status >= 500);
}
`;
}

/** Returns a value as a part of the script. Line separators are valid in JSON, but not in every program. */
function json(value: unknown): string {
  return JSON.stringify(value, undefined, 2).replaceAll(/[\u2028\u2029]/g, escapeUnit);
}

function scenarioOf(clients: readonly number[], seconds: number, rate: number | undefined): unknown {
  const most = Math.max(...clients);
  if (rate !== undefined) {
    // k6 accepts only whole numbers, so a fractional rate is stated per 1,000 seconds.
    const unit = Number.isInteger(rate) ? 1 : 1000;
    return {
      executor: "constant-arrival-rate",
      rate: Math.round(rate * unit),
      timeUnit: `${unit}s`,
      duration: `${seconds * clients.length}s`,
      preAllocatedVUs: most,
      maxVUs: most,
    };
  }
  const stages = clients.flatMap((target) => [
    { duration: "0s", target },
    { duration: `${seconds}s`, target },
  ]);
  return { executor: "ramping-vus", startVUs: clients[0], stages };
}

function variableOf(header: string): string {
  return `HEADER_${header.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;
}

function escapeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
