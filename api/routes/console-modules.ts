import { readFile } from 'node:fs/promises';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, join, posix } from 'node:path';

// The modules that the console imports and that are not in its folder: packages of npm, at the version of
// package-lock.json, and our own TypeScript client. They are served as they are, but for names that a browser cannot
// resolve, which become addresses, and for the client's types, which are stripped: there is no bundle and no build.

const require = createRequire(import.meta.url);

/** Name of an import → its address below `/console/`, and its file. */
const packages = {
  preact: ['vendor/preact.js', require.resolve('preact')],
  'preact/hooks': ['vendor/preact-hooks.js', require.resolve('preact/hooks')],
  htm: ['vendor/htm.js', join(dirname(require.resolve('htm')), 'htm.module.js')],
  'openapi-fetch': ['vendor/openapi-fetch.js', require.resolve('openapi-fetch/dist/index.mjs')],
} as const;
const clientFolder = join(import.meta.dirname, '../../clients/typescript/src');
/** As `imports` of package.json has it. */
const clientName = '#clients/typescript/src/';

const isPackage = (name: string): name is keyof typeof packages => name in packages;

/** The address below `/console/` of what an import names; null for one that a browser resolves. */
function addressOf(name: string, importer: string): string | null {
  if (isPackage(name)) return packages[name][0];
  const file = name.startsWith(clientName)
    ? `client/${name.slice(clientName.length)}`
    : posix.join(posix.dirname(importer), name);
  return file.endsWith('.ts') ? file.replace(/\.ts$/, '.js') : null;
}

const imports = /(?<=\b(?:from|import)\s*(?<quote>['"]))[^'"\n]+(?=\k<quote>)/g;

/** The text of a module at `address`, whose imports a browser can resolve. */
export function forBrowser(text: string, address: string): string {
  return text.replace(imports, (name) => {
    const target = addressOf(name, address);
    if (target === null) return name;
    const relative = posix.relative(posix.dirname(address), target);
    return relative.startsWith('.') ? relative : `./${relative}`;
  });
}

/** Node 24 calls the function experimental, in a line of text on standard error that is no log line. */
function withoutTypes(text: string): string {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(text);
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** The texts of the modules by their addresses below `/console/`; of the client those that its `index.ts` needs. */
export async function sharedModules(): Promise<Map<string, string>> {
  const modules = new Map<string, string>();
  for (const [address, file] of Object.values(packages))
    modules.set(address, forBrowser(await readFile(file, 'utf8'), address));
  const addClientModule = async (name: string) => {
    const address = `client/${name}.js`;
    if (modules.has(address)) return;
    const text = withoutTypes(await readFile(join(clientFolder, `${name}.ts`), 'utf8'));
    modules.set(address, forBrowser(text, address));
    for (const [imported] of text.matchAll(imports))
      if (imported.startsWith('./')) await addClientModule(imported.slice(2, -3));
  };
  await addClientModule('index');
  return modules;
}
