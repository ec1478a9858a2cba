import { dirname, join, normalize } from 'node:path/posix';
import { importsOf, type SourceFile, staticImportsOf } from './imports.ts';

/** Which nodes lead to which. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** The path that an import of our own names; null for a package. */
export function ownPath(importer: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return normalize(join(dirname(importer), specifier));
  return specifier.startsWith('#') ? specifier.slice(1) : null;
}

/** The files by what they import, types included. */
export function importGraph(files: readonly SourceFile[]): Graph {
  const known = new Set(files.map(({ path }) => path));
  return new Map(
    files.map(({ path, text }) => {
      const targets = importsOf(text).map((specifier) => ownPath(path, specifier));
      return [path, new Set(targets.filter((target) => target !== null && known.has(target)))] as const;
    }),
  ) as Graph;
}

/** The packages that a program loads before it runs, each with the first file found to import it. */
export function packagesAtStart(files: readonly SourceFile[], program: string): ReadonlyMap<string, string> {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const packages = new Map<string, string>();
  const loaded = new Set([program]);
  for (const path of loaded) {
    for (const specifier of staticImportsOf(texts.get(path) ?? '')) {
      const target = ownPath(path, specifier);
      if (target !== null) loaded.add(target);
      else if (!specifier.startsWith('node:') && !packages.has(specifier)) packages.set(specifier, path);
    }
  }
  return packages;
}

/** Each folder, with the imports between what lies in it: the files there, and each folder as one node. */
export function folderGraphs(imports: Graph): ReadonlyMap<string, Graph> {
  const graphs = new Map<string, Map<string, Set<string>>>();
  for (const [from, targets] of imports) {
    for (const to of targets) {
      const [source, target] = [from.split('/'), to.split('/')];
      const depth = source.findIndex((name, index) => name !== target[index]);
      const folder = source.slice(0, depth).join('/');
      const graph = graphs.get(folder) ?? new Map<string, Set<string>>();
      graphs.set(folder, graph);
      const [node = '', other = ''] = [source[depth], target[depth]];
      graph.set(node, (graph.get(node) ?? new Set()).add(other));
      if (!graph.has(other)) graph.set(other, new Set());
    }
  }
  return graphs;
}

/** Groups of nodes that reach each other, each sorted by name. */
export function cyclesOf(graph: Graph): string[][] {
  const reach = (start: string) => {
    const seen = new Set<string>();
    const open = [...(graph.get(start) ?? [])];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (seen.has(node)) continue;
      seen.add(node);
      open.push(...(graph.get(node) ?? []));
    }
    return seen;
  };
  const reached = new Map([...graph.keys()].map((node) => [node, reach(node)]));
  const groups = [...reached].map(([node, seen]) =>
    [...seen].filter((other) => reached.get(other)?.has(node) === true).toSorted(),
  );
  return [...new Map(groups.filter(({ length }) => length > 1).map((group) => [group.join(), group])).values()];
}
