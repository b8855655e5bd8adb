package source

import (
	"k8s.io/apimachinery/pkg/labels"

	"sigs.k8s.io/external-dns/source/template"
)

// Config has what the source `ingress` reads of external-dns' own, whose file imports every other source.
type Config struct {
	Namespace                string
	AnnotationFilter         labels.Selector
	LabelFilter              labels.Selector
	IngressClassNames        []string
	TemplateEngine           template.Engine
	IgnoreHostnameAnnotation bool
	IgnoreIngressTLSSpec     bool
	IgnoreIngressRulesSpec   bool
}
