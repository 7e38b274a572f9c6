import { openTestLogin, type OpenTestLogin } from "@svc/dev-services";

export type Login = OpenTestLogin;

/**
 * Makes a login that may make tables in a database, and is no superuser: a superuser passes all row security.
 *
 * @param attributes of `create role`
 */
export function makeLogin(url: string, attributes?: string): Promise<Login> {
  return openTestLogin({ url, attributes, grants: ["grant usage, create on schema public to login"] });
}
