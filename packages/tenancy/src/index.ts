export { currentTenant, requestedTenantOf, tenantOf } from "./accessors.ts";
export { requestedTenant, requireTenant } from "./guards.ts";
export { RESERVED_SUBDOMAINS } from "./host.ts";
export type { TenancyOptions } from "./options.ts";
export type { Caller, TenantSource } from "./resolution.ts";
export { tenancy } from "./tenancy.ts";
