/** What the advisory lock of a tenant is keyed by. A tenant's name may hold anything but NUL, so a space could be part of it. */
export function tenantLock(table: string, tenant: string): string {
  return `svc/search/${JSON.stringify([table, tenant])}`;
}

export function documentLock(table: string, tenant: string, documentId: string): string {
  return `svc/search/${JSON.stringify([table, tenant, documentId])}`;
}
