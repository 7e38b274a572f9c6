// Checks that TypeScript finds the types of the packed packages: with the compilers, module resolutions and module systems of
// docs/typescript.md, and with "Are the types wrong?". Combinations that no package of ES modules can support must fail, each with
// the error that the document names. Declarations of other packages may have errors, because some need a newer TypeScript.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const typeScripts = ["5.2.2", "5.5.4", "5.9.3", "7.0.2"];
const resolutions = ["node10", "node16", "nodenext", "bundler"];
const attw = "@arethetypeswrong/core";
const root = resolve(import.meta.dirname, "..");

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
  linkDependencies(folder, packages);
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
        const found = [...new Set(errorsIn(stdout))].join(", ");
        const expected = expectedError(version, resolution, moduleSystem);
        if (expected !== "") expectedErrors += 1;
        // A compiler that crashes prints no error code.
        const isEnded = status === 0 || /error TS\d+/.test(stdout);
        if (found === expected && isEnded) continue;
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

/** Links the packages whose types our declarations import. */
function linkDependencies(folder, packages) {
  for (const { dependencies, peerDependencies } of packages.values()) {
    for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
      const [source, target] = [join(root, "node_modules", name), join(folder, "node_modules", name)];
      if (!existsSync(source) || existsSync(target)) continue;
      mkdirSync(dirname(target), { recursive: true });
      symlinkSync(source, target);
    }
  }
}

/** Returns the codes of the errors in our declarations, in the file that imports them, and in the arguments. */
function errorsIn(output) {
  return [...output.matchAll(/^(?:(.+?)\(\d+,\d+\): )?error (TS\d+)/gm)].flatMap(([, file = "", code]) =>
    file.includes("node_modules/") && !file.includes("node_modules/@svc/") ? [] : [code],
  );
}

function argumentsFor(resolution, moduleSystem) {
  const common = ["--noEmit", "--strict", "--target", "es2022", "--types", "node"];
  // `node10` does not find all types of third-party packages, and our declarations import some of these.
  if (resolution === "node10") common.push("--skipLibCheck");
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
