// A plugin of the compiler itself that lists what libclang's answers are compared with: each function definition and
// instance of the program with its symbol, each subscript in it with its bytes and its canonical type.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/Mangle.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>
#include <clang/Lex/Lexer.h>
#include <memory>

namespace {
using namespace clang;

struct Lister : ASTConsumer, RecursiveASTVisitor<Lister> {
    ASTContext* context = nullptr;
    std::unique_ptr<MangleContext> names;
    std::string function;

    bool shouldVisitTemplateInstantiations() const { return true; }
    void HandleTranslationUnit(ASTContext& c) override {
        context = &c;
        names.reset(c.createMangleContext());
        TraverseDecl(c.getTranslationUnitDecl());
    }
    bool ours(SourceLocation at) const {
        SourceManager& files = context->getSourceManager();
        return files.isWrittenInMainFile(files.getExpansionLoc(at));
    }
    bool TraverseFunctionDecl(FunctionDecl* f) {
        return in(f, [&] { return RecursiveASTVisitor::TraverseFunctionDecl(f); });
    }
    bool TraverseCXXMethodDecl(CXXMethodDecl* f) {
        return in(f, [&] { return RecursiveASTVisitor::TraverseCXXMethodDecl(f); });
    }
    bool TraverseLambdaExpr(LambdaExpr* e) {
        return in(e->getCallOperator(), [&] { return RecursiveASTVisitor::TraverseLambdaExpr(e); });
    }
    template <typename Walk> bool in(FunctionDecl* f, Walk walk) {
        std::string outer = function;
        bool lambda = isa<CXXMethodDecl>(f) && cast<CXXMethodDecl>(f)->getParent()->isLambda();
        bool special = isa<CXXConstructorDecl>(f) || isa<CXXDestructorDecl>(f);  // these have several symbols
        bool defined = f->doesThisDeclarationHaveABody() && !f->isDependentContext() && !special;
        if (defined && (lambda || !f->isImplicit()) && ours(f->getLocation())) {
            llvm::raw_string_ostream out(function = "");
            names->mangleName(GlobalDecl(f), out);
            if (function.empty() || !names->shouldMangleDeclName(f)) function = f->getNameAsString();
            llvm::outs() << "F " << function << '\n';
        }
        bool more = walk();
        function = outer;
        return more;
    }
    bool VisitArraySubscriptExpr(ArraySubscriptExpr* e) {
        bool in_macro = e->getBeginLoc().isMacroID() || e->getEndLoc().isMacroID();
        if (function.empty() || in_macro || !ours(e->getBeginLoc())) return true;
        SourceManager& files = context->getSourceManager();
        unsigned last = Lexer::MeasureTokenLength(e->getEndLoc(), files, context->getLangOpts());
        llvm::outs() << "S " << function << ' ' << files.getFileOffset(e->getBeginLoc()) << ' '
                     << files.getFileOffset(e->getEndLoc()) + last << ' '
                     << e->getType().getCanonicalType().getAsString(context->getPrintingPolicy()) << '\n';
        return true;
    }
};

struct Plugin : PluginASTAction {
    std::unique_ptr<ASTConsumer> CreateASTConsumer(CompilerInstance&, llvm::StringRef) override {
        return std::make_unique<Lister>();
    }
    bool ParseArgs(const CompilerInstance&, const std::vector<std::string>&) override { return true; }
    ActionType getActionType() override { return ReplaceAction; }
};
FrontendPluginRegistry::Add<Plugin> registered("hipscope-ground-truth", "lists functions and subscripts");
}  // namespace
