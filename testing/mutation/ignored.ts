// Mutants that are not made, as a plugin of Stryker. Descriptions of fields are for people: a test that repeats a text
// only makes it harder to write a better one.

/** What is read of a node of Babel's tree. */
interface Path {
  readonly node: {
    readonly type: string;
    readonly callee?: { readonly type: string; readonly property?: { readonly name?: string } };
  };
  readonly parentPath: Path | null;
}

/** Methods of a zod schema whose argument is a text, or an object with texts. */
const documenting = new Set(['describe', 'meta']);

export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'descriptions',
    value: {
      shouldIgnore({ node, parentPath }: Path): string | undefined {
        const callee = parentPath?.node.type === 'CallExpression' ? parentPath.node.callee : undefined;
        const isArgument = callee !== undefined && callee !== node;
        return isArgument && documenting.has(callee.property?.name ?? '') ? 'a description' : undefined;
      },
    },
  },
];
