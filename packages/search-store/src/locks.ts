/** Returns the key of a tenant's advisory lock. JSON keeps the parts apart, since a tenant may contain spaces and quotes. */
export function tenantLock(table: string, tenant: string): string {
  return `svc/search/${JSON.stringify([table, tenant])}`;
}

export function documentLock(table: string, tenant: string, documentId: string): string {
  return `svc/search/${JSON.stringify([table, tenant, documentId])}`;
}
