// Checks that TypeScript finds the types of the packed packages: with the compilers, module resolutions and module systems of
// docs/typescript.md, and with "Are the types wrong?". Combinations that no package of ES modules can support must fail, each with
// the error that the document names.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const typeScripts = ["5.2.2", "5.5.4", "5.9.3", "7.0.2"];
const resolutions = ["node10", "node16", "nodenext", "bundler"];
const attw = "@arethetypeswrong/core";

/** Returns the faults. Expects the unpacked packages in `types/node_modules` of the folder `work`. */
export async function faultsOfResolutions({ work, tarballs, packages, command }) {
  const tools = join(work, "resolution-tools");
  mkdirSync(tools);
  writeFileSync(join(tools, "package.json"), "{}");
  const wanted = typeScripts.map((version) => `ts-${version}@npm:typescript@${version}`);
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=error", `${attw}@0.18.5`, ...wanted];
  command("install the compilers", "npm", args, tools);
  return [
    ...compileAll(join(work, "types"), tools, packages),
    ...(await faultsOfTarballs(tools, tarballs, packages)),
  ];
}

function compileAll(folder, tools, packages) {
  const imports = [...packages.values()].flatMap(({ name, exports }) =>
    Object.entries(exports).flatMap(([path, { types }]) => (types ? [`${name}${path.slice(1)}`] : [])),
  );
  const lines = imports.map((name, index) => `import * as p${index} from "${name}";\nvoid p${index};\n`);
  const faults = [];
  let expectedErrors = 0;
  for (const moduleSystem of ["module", "commonjs"]) {
    mkdirSync(join(folder, moduleSystem));
    writeFileSync(join(folder, moduleSystem, "package.json"), JSON.stringify({ type: moduleSystem }));
    writeFileSync(join(folder, moduleSystem, "main.ts"), lines.join(""));
    for (const version of typeScripts) {
      for (const resolution of resolutions) {
        const tsc = join(tools, "node_modules", `ts-${version}`, "bin/tsc");
        const args = [tsc, ...argumentsFor(resolution, moduleSystem), join(moduleSystem, "main.ts")];
        const { status, stdout, stderr } = spawnSync(process.execPath, args, {
          cwd: folder,
          encoding: "utf8",
        });
        const found = [...new Set([...stdout.matchAll(/error (TS\d+)/g)].map(([, code]) => code))].join(", ");
        const expected = expectedError(version, resolution, moduleSystem);
        if (expected !== "") expectedErrors += 1;
        // A compiler that crashes prints no error code.
        if (found === expected && (status === 0) === (expected === "")) continue;
        const what = `TypeScript ${version}, ${resolution}, "type": "${moduleSystem}"`;
        const [is, must] = [found || "no error", expected || "no error"];
        faults.push(`${what}: ${is} instead of ${must}\n${`${stdout}${stderr}`.slice(0, 2000)}`);
      }
    }
  }
  const count = 2 * typeScripts.length * resolutions.length;
  console.log(
    `${count} compilations of ${imports.length} imports, ${expectedErrors} with the expected error`,
  );
  return faults;
}

function argumentsFor(resolution, moduleSystem) {
  const common = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--types", "node"];
  if (resolution === "node16" || resolution === "nodenext") return [...common, "--module", resolution];
  const module = resolution === "node10" && moduleSystem === "commonjs" ? "commonjs" : "esnext";
  return [...common, "--module", module, "--moduleResolution", resolution];
}

/** Returns the error of a combination that no package of ES modules can support, or an empty string. */
function expectedError(version, resolution, moduleSystem) {
  const [major, minor] = version.split(".").map(Number);
  if (resolution === "node10" && major >= 7) return "TS5108";
  if (moduleSystem === "module") return "";
  const knowsRequire = major > 5 || minor >= 8;
  return resolution === "node16" || (resolution === "nodenext" && !knowsRequire) ? "TS1479" : "";
}

/**
 * Returns what "Are the types wrong?" finds, except that a CommonJS file with `node16` resolves to an ES module, and that a path
 * which the manifest exports without types has none.
 */
async function faultsOfTarballs(tools, tarballs, packages) {
  const path = createRequire(join(tools, "package.json")).resolve(attw);
  const { checkPackage, createPackageFromTarballData } = await import(pathToFileURL(path).href);
  const faults = [];
  for (const [name, tarball] of tarballs) {
    const { problems } = await checkPackage(
      createPackageFromTarballData(new Uint8Array(readFileSync(tarball))),
    );
    for (const problem of problems)
      if (problem.kind !== "CJSResolvesToESM" && hasTypes(packages.get(name), problem))
        faults.push(`@svc/${name}: ${JSON.stringify(problem)}`);
  }
  return faults;
}

function hasTypes({ exports }, { entrypoint }) {
  return entrypoint === undefined || exports[entrypoint]?.types !== undefined;
}
