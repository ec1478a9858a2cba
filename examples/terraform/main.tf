# terraform init && terraform apply, with KUBECONFIG set. Namespaces and Secrets come first, as in docs/guides/install.md.
terraform {
  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = "~> 3.0"
    }
  }
}

provider "helm" {}

resource "helm_release" "reelwright" {
  name      = "reelwright"
  namespace = "reelwright"
  chart     = "${path.module}/../../charts/reelwright"
  values    = [file("${path.module}/values.yaml")]
  wait      = true
}
