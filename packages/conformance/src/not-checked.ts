/** A rule that can be seen from outside in some way, and why this kit does not look at it. */
export interface NotChecked {
  readonly rules: readonly string[];
  readonly reason: string;
}

/** What stands in the way, for every rule of the kit's list that has no check. */
export const notChecked: readonly NotChecked[] = [
  { rules: ["PROF-3"], reason: "the reduced profile has nothing that revokes a token" },
  { rules: ["PROF-4"], reason: "is COR-15 of a service of the reduced profile" },
  { rules: ["RDY-9"], reason: "whether two answers share one run of the checks is seen from within only" },
  { rules: ["RDY-23"], reason: "where a service keeps its revocations cannot be told from outside" },
  {
    rules: ["RDY-14", "RDY-24", "RDY-25"],
    reason: "needs a start while the key-set endpoint is down, and a minute between unknown kids after that",
  },
  { rules: ["RDY-20", "RDY-21"], reason: "needs the end of the service under test" },
  {
    rules: ["PORT-2", "PORT-4", "PORT-7", "ENV-3"],
    reason: "the kit is told a URL, not the port of the block",
  },
  { rules: ["ENV-4", "ENV-5", "LOG-6"], reason: "needs a second start with another value of the variable" },
  {
    rules: ["EDGE-2"],
    reason: "needs proxies that the service trusts, and a route that tells the client's address",
  },
  { rules: ["ROUTE-2"], reason: "needs an application whose routes claim the framework's paths" },
  { rules: ["VER-2", "VER-4"], reason: "is the sum of the other rules" },
  { rules: ["AUTH-2"], reason: "a mode is configured; that it works is AUTH-14" },
  { rules: ["AUTH-34"], reason: "needs a page whose token comes in a cookie of the application's choice" },
  { rules: ["CLAIM-7"], reason: "a refresh token is never a caller, so its scopes are never seen" },
  {
    rules: ["CLAIM-8"],
    reason: "what a service tells about its caller is not in the contract; see AUTH-15, AUTH-16, TEN-1",
  },
  {
    rules: ["KEY-5", "KEY-6", "KEY-7", "KEY-8", "KEY-9", "KEY-10", "KEY-13", "KEY-15"],
    reason: "fetches are caused by unknown kids once a minute only: a series of failed ones takes minutes",
  },
  { rules: ["ISS-1"], reason: "a login route of the application looks like one of the framework" },
  { rules: ["ISS-14"], reason: "a service has one kind of signing key; that its tokens verify is ISS-15" },
  { rules: ["ISS-18"], reason: "events that are not sent cannot be seen" },
  {
    rules: ["ISS-19", "REV-10"],
    reason: "is asked for by code of the application, on no route of the contract",
  },
  { rules: ["REV-1"], reason: "is ISS-5 and ISS-6" },
  { rules: ["REV-2", "REV-9"], reason: "shows after a token would have ended, after weeks" },
  { rules: ["REV-7", "REV-8"], reason: "shows on a store that hangs; the kit has it taken away" },
  { rules: ["REF-8"], reason: "what is signed and not sent is seen from within only; see REF-4" },
  {
    rules: ["OIDC-9", "OIDC-10", "OIDC-11", "OIDC-13", "OIDC-14", "OIDC-16", "OIDC-17"],
    reason: "needs a person who signs in at the provider",
  },
  { rules: ["TEN-2"], reason: "a service without the base domain does not start" },
];
