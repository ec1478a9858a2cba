import { type Manifest, objectOf } from './chart.ts';

// How tests read the objects of the release `reelwright`.

export const components = ['api', 'delivery', 'controller'] as const;
export type Component = (typeof components)[number];

interface Container extends Readonly<Record<string, unknown>> {
  readonly env: readonly { readonly name: string }[];
}
interface PodTemplate {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly spec: Readonly<Record<string, unknown>> & { readonly containers: readonly [Container] };
}

/** The labels that select the pods of a component. */
export const selectorOf = (component: string) => ({
  'app.kubernetes.io/name': 'reelwright',
  'app.kubernetes.io/instance': 'reelwright',
  'app.kubernetes.io/component': component,
});
export const specOf = (manifests: readonly Manifest[], kind: string, name: string) =>
  objectOf(manifests, kind, name)['spec'] as Readonly<Record<string, unknown>>;
/** The settings of a deployment. */
export const dataOf = (manifests: readonly Manifest[], component: Component) =>
  objectOf(manifests, 'ConfigMap', `reelwright-${component}`)['data'] as Readonly<Record<string, string>>;
/** The pods of a deployment. */
export const templateOf = (manifests: readonly Manifest[], component: Component) =>
  specOf(manifests, 'Deployment', `reelwright-${component}`)['template'] as PodTemplate;
/** The names of the objects of a kind. */
export const namesOf = (manifests: readonly Manifest[], kind: string) =>
  manifests.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
