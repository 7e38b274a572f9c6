/** Rules in the kit's list that it does not check, with the reason. */
export interface NotChecked {
  readonly rules: readonly string[];
  readonly reason: string;
}

/** All rules in the kit's list without a check. */
export const notChecked: readonly NotChecked[] = [
  { rules: ["PROF-3"], reason: "the reduced profile has nothing that revokes a token" },
  { rules: ["PROF-4"], reason: "the same as COR-15, for the reduced profile" },
  { rules: ["RDY-9"], reason: "not observable over HTTP: whether two responses share one run of the checks" },
  { rules: ["RDY-23"], reason: "not observable over HTTP: where a service stores its revocations" },
  {
    rules: ["RDY-14", "RDY-24", "RDY-25"],
    reason:
      "needs a service that starts while its key-set endpoint is down, and a minute between two unknown kids",
  },
  { rules: ["RDY-20", "RDY-21"], reason: "needs a shutdown of the service under test" },
  {
    rules: ["PORT-2", "PORT-4", "PORT-7", "ENV-3"],
    reason: "the kit knows the service's URL, not its `SVC_PORT`",
  },
  {
    rules: ["ENV-4", "ENV-5", "LOG-6"],
    reason: "needs a restart of the service with another value of the variable",
  },
  {
    rules: ["EDGE-2"],
    reason: "needs proxies that the service trusts, and a route that shows the client's address",
  },
  { rules: ["ROUTE-2"], reason: "needs an application whose routes respond to the framework's paths" },
  { rules: ["VER-2", "VER-4"], reason: "covered by the other rules" },
  { rules: ["AUTH-2"], reason: "the mode is a setting of the service; AUTH-14 checks that it works" },
  { rules: ["AUTH-34"], reason: "needs a page whose token is in a cookie that the application chooses" },
  {
    rules: ["CLAIM-7"],
    reason: "a refresh token never authenticates a caller, so its scopes are not visible",
  },
  {
    rules: ["CLAIM-8"],
    reason: "the contract does not say what a service shows about its caller; see AUTH-15, AUTH-16, TEN-1",
  },
  {
    rules: ["KEY-5", "KEY-6", "KEY-7", "KEY-8", "KEY-9", "KEY-10", "KEY-13", "KEY-15"],
    reason: "unknown kids cause at most one fetch a minute, so a series of failed fetches takes minutes",
  },
  {
    rules: ["ISS-1"],
    reason: "a login route of the application cannot be distinguished from a framework route",
  },
  {
    rules: ["ISS-14"],
    reason: "a service has one kind of signing key; ISS-15 checks that its tokens verify",
  },
  { rules: ["ISS-18"], reason: "not observable over HTTP: whether an operation emits an event" },
  {
    rules: ["ISS-19", "REV-10"],
    reason: "only application code can do this; the contract has no route for it",
  },
  { rules: ["REV-1"], reason: "covered by ISS-5 and ISS-6" },
  { rules: ["REV-2", "REV-9"], reason: "visible only after the lifetime of a token, which can be weeks" },
  {
    rules: ["REV-7", "REV-8"],
    reason: "visible only with a store that hangs; the kit breaks the store instead",
  },
  { rules: ["REF-8"], reason: "not observable over HTTP: a token that is signed but not sent; see REF-4" },
  {
    rules: ["OIDC-9", "OIDC-10", "OIDC-11", "OIDC-13", "OIDC-14", "OIDC-16", "OIDC-17"],
    reason: "needs a user who signs in at the provider",
  },
  { rules: ["TEN-2"], reason: "a service without the base domain does not start" },
];
