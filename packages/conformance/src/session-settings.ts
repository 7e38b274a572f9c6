import { isObject } from "./answer.ts";
import type { Probe } from "./requests.ts";
import type {
  FederatedProbe,
  HookProbe,
  RotationProbe,
  SessionProbe,
  StoreProbe,
} from "./session-options.ts";

/** The probe `session` with all defaults applied. */
export interface ResolvedSession {
  readonly request: Probe;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly route: Probe;
  readonly graceSeconds: number;
  readonly accessSeconds: number;
  readonly refreshSeconds: number;
  readonly lifetimeDays: number;
  readonly hook: HookProbe | undefined;
  readonly store: StoreProbe | undefined;
  readonly rotation: RotationProbe | undefined;
}

export function resolveSession(given: SessionProbe, inner: Probe | undefined): ResolvedSession {
  return {
    request: given.request,
    accessToken: given.accessToken ?? "access_token",
    refreshToken: given.refreshToken ?? "refresh_token",
    route: given.route ?? inner ?? "/auth/me",
    graceSeconds: given.graceSeconds ?? 10,
    accessSeconds: given.accessSeconds ?? 900,
    refreshSeconds: given.refreshSeconds ?? 2_592_000,
    lifetimeDays: given.lifetimeDays ?? 0,
    hook: given.hook,
    store: given.store,
    rotation: given.rotation,
  };
}

type Kind = "probe" | "text" | "number" | "boolean" | "texts";
type Fits = (value: unknown, kind: Kind) => boolean;
type Shape = Readonly<Record<string, Kind | { readonly inner: Shape; readonly needs: readonly string[] }>>;

const sessionShape: Shape = {
  request: "probe",
  accessToken: "text",
  refreshToken: "text",
  route: "probe",
  graceSeconds: "number",
  accessSeconds: "number",
  refreshSeconds: "number",
  lifetimeDays: "number",
  hook: {
    inner: {
      decline: "probe",
      fail: "probe",
      grant: { inner: { request: "probe", scopes: "texts" }, needs: ["request", "scopes"] },
      restore: "probe",
    },
    needs: ["restore"],
  },
  store: { inner: { break: "probe", restore: "probe", failOpen: "boolean" }, needs: ["break", "restore"] },
  rotation: { inner: { add: "probe", promote: "probe" }, needs: ["promote"] },
};

const federatedShape: Shape = { provider: "text", authorizationEndpoint: "text" };

const said: Readonly<Record<Kind, string>> = {
  probe: 'is neither "/path" nor { path }',
  text: "must be a text",
  number: "must be a number from 0 on",
  boolean: "must be true or false",
  texts: "must be a list of texts",
};

/** Returns the faults in the probes `session` and `federated`. */
export function sessionFaults(
  session: SessionProbe | undefined,
  federated: FederatedProbe | undefined,
  isProbe: (value: unknown) => boolean,
): readonly string[] {
  const fits: Fits = (value, kind) => {
    if (kind === "probe") return isProbe(value);
    if (kind === "texts") return Array.isArray(value) && value.every((each) => typeof each === "string");
    if (kind === "number") return typeof value === "number" && value >= 0;
    return typeof value === (kind === "text" ? "string" : kind) && value !== "";
  };
  return [
    ...(session === undefined
      ? []
      : faultsOf("probes.session", session, { inner: sessionShape, needs: ["request"] }, fits)),
    ...(federated === undefined
      ? []
      : faultsOf("probes.federated", federated, { inner: federatedShape, needs: ["provider"] }, fits)),
  ];
}

function faultsOf(
  at: string,
  value: unknown,
  { inner, needs }: { readonly inner: Shape; readonly needs: readonly string[] },
  fits: Fits,
): readonly string[] {
  if (!isObject(value)) return [`${at}: is not an object`];
  const missing = needs.filter((name) => value[name] === undefined).map((name) => `${at}.${name}: is needed`);
  const wrong = Object.entries(value).flatMap(([name, each]) => {
    if (each === undefined) return [];
    if (!Object.hasOwn(inner, name)) {
      return [`${at}.${name}: is unknown; known are ${Object.keys(inner).join(", ")}`];
    }
    const kind = inner[name];
    if (kind === undefined) return [];
    if (typeof kind === "object") return faultsOf(`${at}.${name}`, each, kind, fits);
    return fits(each, kind) ? [] : [`${at}.${name}: ${said[kind]}`];
  });
  return [...missing, ...wrong];
}
